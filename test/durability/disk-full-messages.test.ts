import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../cli/run-command.ts';
import { fillerOn } from '../store/disk-filler.ts';
import { MOUNTING_REFUSED, mountSmallDisk } from '../store/small-disk.ts';
import { EdgeWorld } from '../support/edge-world.ts';
import { TEST_API_KEY } from '../support/test-world.ts';

const FULL = /the server stores no changes: the disk of .*postern\.sqlite is full/;
const ADVICE = /free space on the disk of the database.*without a restart/;

test('on a full disk, problems, status and doctor say so and what to do, traffic goes on, and all of it ends with the cause', async (t) => {
  const disk = mountSmallDisk(t, 12);
  if (disk === null) {
    console.error(MOUNTING_REFUSED);
    t.skip(MOUNTING_REFUSED);
    return;
  }
  const dataDir = join(disk, 'data');
  const edge = await EdgeWorld.open(t, {}, { dataDir });
  const { host } = await edge.site((await edge.api('POST', '/backends/http_response', { body: 'here' })).id);
  const write = () => edge.world.api('POST', '/backends/http_response', { body: 'x'.repeat(40_000) });
  const problems = async () => (await edge.world.api('GET', '/problems')).body.problems;
  const env = { POSTERN_CLI_API_URL: edge.world.baseUrl, POSTERN_CLI_API_KEY: TEST_API_KEY, POSTERN_DATA_DIR: dataDir };
  assert.deepEqual(await problems(), []);

  const filler = fillerOn(disk, 0);
  filler.fillUp();
  for (;;) {
    const { status, body } = await write();
    if (status === 201) continue;
    assert.deepEqual([status, body.error_code], [507, 'ERR_POSTERN_STORE_FULL']);
    assert.match(body.msg, /is full\. Nothing was applied: free space/);
    break;
  }
  const [problem, ...others] = await problems();
  assert.deepEqual([problem.severity, problem.check, others], ['problem', 'store', []]);
  assert.match(problem.message, FULL);
  assert.match(problem.advice, ADVICE);
  const status = await runCommand(['status'], { env });
  assert.equal(status.code, 1);
  assert.match(status.stdout, FULL);
  assert.match(status.stdout, ADVICE);
  assert.equal(status.stdout.match(/^problem: /gm)?.length, 1, status.stdout);
  const doctor = JSON.parse((await runCommand(['doctor', '--json'], { env })).stdout);
  const found = (doctor.findings as { level: string; check: string; message: string }[])
    .filter(({ level }) => level === 'problem')
    .map(({ check, message }) => [check, FULL.test(message) || /^the disk of .* is full/.test(message)]);
  assert.deepEqual(
    found.filter(([check]) => check === 'store' || check === 'data_dir' || check === 'api'),
    [
      ['data_dir', true],
      ['store', true],
    ],
  );
  assert.equal((await edge.ask(host)).text, 'here');

  filler.free();
  while ((await write()).status !== 201) await sleep(20);
  assert.deepEqual(await problems(), []);
  assert.match((await runCommand(['status'], { env })).stdout, /^Problems +none$/m);
});
