import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { EdgeWorld } from '../support/edge-world.ts';
import { tempDir } from '../support/temp-dir.ts';

function run(command: string, ...args: readonly string[]): boolean {
  return spawnSync(command, args).status === 0;
}

/** ext4 makes a file system read-only when its disk fails; `abort` is its own way to test that. */
test('a disk that becomes read-only while the server runs: writes say so, all else goes on, nothing is lost', async (t) => {
  let mounted = '';
  // First: the folder cannot be removed before.
  t.after(() => void run('umount', '-l', mounted));
  const folder = await tempDir(t);
  const image = join(folder, 'disk.img');
  mounted = join(folder, 'disk');
  const isMounted =
    run('mkdir', mounted) &&
    run('truncate', '-s', '64M', image) &&
    run('mkfs.ext4', '-q', '-F', image) &&
    run('mount', '-o', 'loop,errors=remount-ro', image, mounted);
  if (!isMounted) return t.skip('no file system can be mounted here');
  const dataDir = join(mounted, 'data');
  const world = await EdgeWorld.open(t, {}, { dataDir });
  const { host } = await world.site(await world.httpResponse('here'));
  const kept = (await world.world.api('POST', '/ip_policies', {})).body.id as string;

  assert.ok(run('mount', '-o', 'remount,abort', mounted));
  for (let n = 0; n < 3; n += 1) {
    const { status, body } = await world.world.api('POST', '/ip_policies', {});
    assert.deepEqual([status, body.error_code], [503, 'ERR_POSTERN_STORE_READ_ONLY'], body.msg);
    assert.match(body.msg, /read-write/);
  }
  assert.equal((await world.world.api('GET', `/ip_policies/${kept}`)).status, 200);
  assert.equal(await world.status(host), 200);
  const health = await world.world.api('GET', '/healthz');
  assert.deepEqual([health.status, health.body.status], [200, 'degraded']);
  const { problems } = (await world.world.api('GET', '/problems')).body;
  assert.match(JSON.stringify(problems), /read-write/);
  assert.doesNotMatch(JSON.stringify(problems), /is full|free space/);

  // A file system that was aborted has to be mounted again, so the server has to start again.
  world.disconnect();
  await world.world.close();
  assert.ok(run('umount', '-l', mounted) && run('mount', '-o', 'loop', image, mounted));
  const again = await EdgeWorld.open(t, {}, { dataDir });
  assert.equal((await again.world.api('GET', `/ip_policies/${kept}`)).status, 200);
  assert.equal((await again.world.api('POST', '/ip_policies', {})).status, 201);
});
