import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { StoreLocation } from '../../src/store/offline-database.ts';
import { fillerOn } from '../store/disk-filler.ts';
import { MOUNTING_REFUSED, mountSmallDisk } from '../store/small-disk.ts';
import type { ApiConnection } from '../support/api-connection.ts';
import { until } from '../support/cluster.ts';
import { startUnderFire } from './server-under-fire.ts';

async function refusesWrites(api: ApiConnection): Promise<void> {
  const { status, body } = await api.send('POST', '/ip_policies', {});
  assert.deepEqual([status, body.error_code], [507, 'ERR_POSTERN_STORE_FULL'], JSON.stringify(body));
}

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  test(`a server starts on a full disk, serves, and writes once there is space, after ${signal}`, async (t: TestContext) => {
    const disk = mountSmallDisk(t, 8);
    if (disk === null) {
      t.skip(MOUNTING_REFUSED);
      return;
    }
    const location: StoreLocation = { engine: 'sqlite', dataDir: join(disk, 'data') };
    const env = { POSTERN_IDENTITY_HOST: 'id.example.com' };
    const first = await startUnderFire(t, location, { env });
    const { id } = (await first.api.send('POST', '/ip_policies', { description: 'kept' })).body;
    first.process.child.kill(signal);
    await first.process.exited;
    const filler = fillerOn(disk, 0);
    filler.fillUp();
    // The second start finds less than the first.
    for (let start = 0; start < 2; start += 1) {
      const { api, process } = await startUnderFire(t, location, { env });
      assert.equal((await api.send('GET', `/ip_policies/${id}`)).body.description, 'kept');
      await refusesWrites(api);
      const { problems } = (await api.send('GET', '/problems')).body;
      assert.match(JSON.stringify(problems), /disk of [^"]*postern\.sqlite is full.*free space on the disk/);
      if (start === 1) {
        filler.free();
        await until('writes work', async () => (await api.send('POST', '/ip_policies', {})).status === 201);
        await until('the problem is over', async () => {
          const now = (await api.send('GET', '/problems')).body.problems;
          return !JSON.stringify(now).includes('is full');
        });
      }
      process.child.kill(signal);
      await process.exited;
    }
  });
}
