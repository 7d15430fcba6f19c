import assert from 'node:assert/strict';
import { after, before, suite, type TestContext, test } from 'node:test';
import { HandoverWorld, type WorldOptions } from '../handover/handover-world.ts';
import { HANDOVER_STEPS, killNewProcess, killOldProcess } from '../handover/killed-processes.ts';
import { type Kill, killServers, MESSAGES } from '../handover/killed-servers.ts';
import { Load } from '../handover/load.ts';
import { freshDatabase, type PostgresServer, startPostgres } from '../support/postgres.ts';

const HANDOVERS = 6;
const TIMEOUT_MS = 30 * 60_000;

/** The full form of `test/handover/steps.test.ts`. */
suite('kill -9 at every step of a handover', { timeout: TIMEOUT_MS }, () => {
  for (const step of HANDOVER_STEPS) {
    // After it has said that it serves, the end of the new process is that of any server.
    if (step !== 'after serving') test(`of the new process at "${step}"`, (t) => killNewProcess(t, step));
    test(`of the old process at "${step}"`, (t) => killOldProcess(t, step));
  }
});

/** The full form of `test/handover/killed-servers.test.ts`. */
suite('kill -9 of real servers during handovers', { timeout: TIMEOUT_MS }, () => {
  for (const engine of ['sqlite', 'postgres'] as const) {
    test(`${engine}: at every message, of either server`, async (t) => {
      let databaseUrl: string | undefined;
      if (engine === 'postgres') {
        const postgres = await startPostgres();
        t.after(() => postgres.stop());
        databaseUrl = (await freshDatabase(postgres)).url;
      }
      const kills = MESSAGES.flatMap((at): readonly Kill[] => [
        // After it has said that it serves, the end of the new process is that of any server.
        ...(at === 'serving' ? [] : [{ who: 'new' as const, at }]),
        { who: 'old', at },
      ]);
      for (const line of await killServers(t, databaseUrl, kills)) t.diagnostic(line);
    });
  }
});

/** The full form of `test/handover/under-load.test.ts`. */
suite('a server is replaced under load, again and again', { timeout: TIMEOUT_MS }, () => {
  let postgres: PostgresServer | null = null;
  before(async () => {
    postgres = await startPostgres();
  });
  after(() => postgres?.stop());

  for (const engine of ['sqlite', 'postgres'] as const) {
    const worldOptions = async (t: TestContext): Promise<WorldOptions> => {
      if (engine === 'sqlite') return {};
      const database = await freshDatabase(postgres as PostgresServer);
      t.after(() => database.drop());
      return { databaseUrl: database.url };
    };

    test(`${engine}: ${HANDOVERS} handovers, no failed request, every acknowledged write`, async (t) => {
      const world = await HandoverWorld.open(t, await worldOptions(t));
      const load = new Load(world).start();
      t.after(() => load.stop());
      for (let n = 0; n < HANDOVERS; n += 1) {
        await load.more(20);
        await world.handOver();
      }
      await world.allDrained();
      await load.more(20);
      await load.stop();
      console.log(`${engine}: ${HANDOVERS} handovers, ${JSON.stringify(Object.fromEntries(load.counts))}`);
      assert.deepEqual(load.failures, []);
      await assertWritten(world, load.written);
    });

    test(`${engine}: kill -9 of the process that drains cuts its own requests at most`, async (t) => {
      const world = await HandoverWorld.open(t, await worldOptions(t));
      const load = new Load(world, { mayFail: true }).start();
      t.after(() => load.stop());
      for (let n = 0; n < HANDOVERS; n += 1) {
        await load.more(20);
        const { pid } = world;
        await world.handOver();
        world.kill(pid);
        const before = load.failures.length;
        await load.more(20);
        // Each client has one request in flight.
        assert.ok(load.failures.length - before <= load.counts.size + 1, load.failures.join('\n'));
      }
      await load.stop();
      await assertWritten(world, load.written);
    });
  }
});

async function assertWritten(world: HandoverWorld, written: readonly string[]): Promise<void> {
  const api = world.api();
  for (const id of written) assert.equal((await api.send('GET', `/ip_policies/${id}`)).status, 200, id);
  api.close();
}
