// Long form: stops PostgreSQL in every way. Short form: test/durability/without-database.test.ts
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../src/kit/json.ts';
import type { StoreLocation } from '../../src/store/offline-database.ts';
import type { ApiConnection } from '../support/api-connection.ts';
import { startOwnPostgres } from '../support/own-postgres.ts';
import { freshDatabase } from '../support/postgres.ts';
import { Random } from '../support/random.ts';
import { tempDir } from '../support/temp-dir.ts';
import { checkDatabase } from './database-checks.ts';
import { Ledger } from './ledger.ts';
import { observe } from './observe.ts';
import { documentsIn } from './rendered-documents.ts';
import { repeatKeyedCreates } from './repeat-keyed-creates.ts';
import { startUnderFire } from './server-under-fire.ts';
import { setUpWorld } from './set-up-world.ts';
import { newWriterLog, Writer } from './writer.ts';

const WRITERS = 4;
/** Fast shutdown and crash; the long form adds the immediate shutdown, a crash that notifies its clients. */
const SIGNALS = process.env['POSTERN_TEST_LONG']
  ? (['SIGINT', 'SIGQUIT', 'SIGKILL'] as const)
  : (['SIGINT', 'SIGKILL'] as const);
const RECOVERY_MS = 10_000;
/** The replica follows by poll at the latest. */
const POLL_MS = 2_000;

test('PostgreSQL stops and comes back: writes get 503, reads continue, and no restart is needed', async (t) => {
  const dataDir = join(await tempDir(t), 'data');
  const postgres = await startOwnPostgres();
  t.after(() => postgres.close());
  const { url } = await freshDatabase(postgres);
  const location: StoreLocation = { engine: 'postgres', dataDir, url };
  const server = await startUnderFire(t, location);
  const { api } = server;
  const ledger = new Ledger();
  const { revision: subscribedFrom } = await setUpWorld(api, ledger);
  const log = newWriterLog();
  const writers = Array.from(
    { length: WRITERS },
    (_, at) => new Writer({ name: `w${at}`, ledger, random: new Random(Date.now() + at), log }),
  );

  const figures: string[] = [];
  for (const signal of SIGNALS) {
    const stop = new AbortController();
    const running = Promise.all(writers.map((writer) => writer.run(api, stop.signal)));
    await sleep(700);
    await postgres.end(signal);
    await assertAway(api);
    await postgres.start();
    await untilWritten(api, ledger, signal);
    await sleep(300);
    stop.abort();
    await running;
    await sleep(POLL_MS);

    const settled = ledger.settle(await observe(api));
    const { problems, changes } = await checkDatabase(location, { subscribedFrom });
    const changed = new Set(changes.map(({ revision, owner }) => `${revision} ${owner}`));
    const unseen = log.acknowledged.filter(({ revision, id }) => !changed.has(`${revision} ${id}`));
    assert.deepEqual([...log.problems, ...settled.problems, ...problems], []);
    assert.deepEqual(unseen, [], 'acknowledged, and not among the changes');
    const repeats = await repeatKeyedCreates(api, log.keyedCreates.splice(0), ledger);
    assert.deepEqual(repeats.problems, []);
    for (const writer of writers) writer.forgetOpen();
    figures.push(
      `${signal}: ${log.acknowledged.length} acknowledged, ${settled.unanswered} of unknown outcome of which ${settled.applied.length} applied`,
    );
    log.acknowledged.length = 0;
  }
  for (const line of figures) t.diagnostic(line);
  assert.equal(server.process.child.exitCode, null, 'the server was not restarted');
});

async function assertAway(api: ApiConnection): Promise<void> {
  const write = await api.send('POST', '/ip_policies', { description: 'sent while the database was away' });
  assert.equal(write.status, 503, JSON.stringify(write.body));
  assert.equal(write.body.error_code, 'ERR_POSTERN_STORE_UNAVAILABLE');
  assert.match(write.body.msg, /database/);
  const health = await api.send('GET', '/healthz');
  assert.equal(health.status, 200, 'what is in memory is served on');
  assert.deepEqual(health.body, { status: 'degraded', error_code: 'ERR_POSTERN_STORE_UNAVAILABLE' });
  assert.ok((await observe(api)).size > 0);
}

/** The idempotency key makes any number of attempts create one policy. */
async function untilWritten(api: ApiConnection, ledger: Ledger, title: string): Promise<void> {
  const deadline = Date.now() + RECOVERY_MS;
  for (;;) {
    const headers = { 'idempotency-key': `probe-${title}` };
    const { status, body } = await api.send('POST', '/ip_policies', { description: `probe ${title}` }, headers);
    if (status === 201) {
      for (const [key, state] of documentsIn('ip_policy', body as JsonObject)) ledger.acknowledge(key, state);
      return;
    }
    assert.equal(body.error_code, 'ERR_POSTERN_STORE_UNAVAILABLE', JSON.stringify(body));
    assert.ok(Date.now() < deadline, 'the server did not find the database again');
    await sleep(100);
  }
}
