import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { examine, said } from '../cli/doctor-world.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';

test('lost commits are a problem of the node until the next start, for the API and for the doctor', async () => {
  const dataDir = await tempDir({ after });
  const file = join(dataDir, 'postern.sqlite');
  const open = () => TestWorld.open({ after }, { dataDir });
  await (await open()).close();
  cpSync(file, `${file}.old`);
  const writing = await open();
  assert.equal((await writing.api('POST', '/ip_policies', {})).status, 201);
  await writing.close();
  cpSync(`${file}.old`, file);

  const world = await open();
  const [found] = (await world.api('GET', '/problems')).body.problems;
  assert.equal(found.check, 'nodes');
  assert.match(found.message, /lost commits: .*ends with revision/);
  assert.match(found.advice, /restart the server/);
  const env = { POSTERN_DATA_DIR: dataDir, POSTERN_API_LISTEN: new URL(world.baseUrl).host, POSTERN_ROLES: 'api' };
  const diagnosis = await examine(['--api-url', world.baseUrl], { ...env, POSTERN_API_KEY: TEST_API_KEY });
  assert.match(said(diagnosis, 'nodes')[0] ?? '', /^problem: .*lost commits/);
  assert.equal(diagnosis.code, 1);
  await world.close();

  const again = await open();
  assert.deepEqual((await again.api('GET', '/problems')).body.problems, []);
});
