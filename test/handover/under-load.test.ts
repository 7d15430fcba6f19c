import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Cleanup } from '../support/cleanup.ts';
import { freshDatabase, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { HandoverWorld } from './handover-world.ts';
import { Load } from './load.ts';

// Own process: takes long.

/** A process that does not end must fail the test, not hang it. */
const TIMEOUT_MS = 400_000;

suite('a server is replaced under load', { timeout: TIMEOUT_MS }, () => {
  let postgres: PostgresServer | null = null;
  before(async () => {
    postgres = await startPostgres();
  });
  after(() => postgres?.stop());

  test('sqlite: no request fails in two handovers, and every acknowledged write is there', async (t) => {
    await replaceUnderLoad(t, await HandoverWorld.open(t), 2);
  });

  test('postgres: no request fails, and every acknowledged write is there', async (t) => {
    const database = await freshDatabase(postgres as PostgresServer);
    t.after(() => database.drop());
    await replaceUnderLoad(t, await HandoverWorld.open(t, { databaseUrl: database.url }), 1);
  });
});

async function replaceUnderLoad(
  t: Cleanup & { diagnostic(text: string): void },
  world: HandoverWorld,
  times: number,
): Promise<void> {
  const load = new Load(world).start();
  t.after(() => load.stop());
  await load.more(20);
  for (let n = 0; n < times; n += 1) {
    await world.handOver();
    await load.more(20);
  }
  await world.allDrained();
  await load.more(5);
  await load.stop();
  t.diagnostic(JSON.stringify(Object.fromEntries(load.counts)));
  assert.deepEqual(load.failures, []);
  assert.equal(new Set(world.servers()).size, times + 1);
  const api = world.api();
  t.after(async () => api.close());
  for (const id of load.written) assert.equal((await api.send('GET', `/ip_policies/${id}`)).status, 200, id);
}
