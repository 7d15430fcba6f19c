import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { systemClock } from '../../src/kit/clock.ts';
import type { PostgresLocation } from '../../src/store/offline-database.ts';
import { emptyLocation, openAt, usePostgres } from './engines.ts';

usePostgres();

const NODE = { id: 'nd_1', status: 'ready', startedAtMs: 5, doc: {} } as const;
const CLAIM = { key: 'tls a.example', sessionId: 'ts_1', credentialId: 'cr_1', nodeId: 'nd_1' };
const LONG_MS = 60_000;

async function world(t: TestContext) {
  const location = (await emptyLocation(t, 'postgres')) as PostgresLocation;
  const { nodes } = await openAt(location, { clock: systemClock });
  const other = new pg.Client({ connectionString: location.url });
  other.on('error', () => {});
  await other.connect();
  t.after(() => other.end().catch(() => {}));
  return { nodes, other };
}

test('a heartbeat does not wait for writers', async (t) => {
  const { nodes, other } = await world(t);
  await nodes.heartbeat(NODE, LONG_MS);
  await other.query("BEGIN; SELECT value FROM counter WHERE name = 'revision' FOR UPDATE");
  const claimed = nodes.claim(CLAIM);
  for (let beat = 0; beat < 3; beat += 1) {
    assert.equal((await nodes.heartbeat(NODE, LONG_MS)).hadExpired, false);
    assert.equal((await nodes.renewFor('nd_1', LONG_MS)).hadExpired, false);
  }
  await other.query('ROLLBACK');
  assert.equal((await claimed).ok, true);
});

test('a claim waits for a renewal in progress, and loses against it', async (t) => {
  const { nodes, other } = await world(t);
  await nodes.heartbeat(NODE, LONG_MS);
  await nodes.claim(CLAIM);
  await nodes.heartbeat({ ...NODE, id: 'nd_2' }, LONG_MS);
  await other.query('UPDATE nodes SET unbroken_since_ms = 0');
  await other.query("UPDATE nodes SET lease_ends_at_ms = 1 WHERE id = 'nd_1'");
  await other.query("BEGIN; UPDATE nodes SET lease_ends_at_ms = 9000000000000000 WHERE id = 'nd_1'");
  const claimed = nodes.claim({ ...CLAIM, sessionId: 'ts_2', nodeId: 'nd_2' });
  await waitsForLock(other, claimed);
  await other.query('COMMIT');
  assert.equal((await claimed).ok, false);
});

test('a renewal that waited for a claim finds that its lease had ended', async (t) => {
  const { nodes, other } = await world(t);
  await nodes.heartbeat(NODE, LONG_MS);
  await other.query('BEGIN');
  // As a claim that takes over: it holds the row, and the lease ends meanwhile.
  await other.query("UPDATE nodes SET lease_ends_at_ms = lease_ends_at_ms WHERE id = 'nd_1'");
  const beat = nodes.heartbeat(NODE, LONG_MS);
  await waitsForLock(other, beat);
  await other.query(
    "UPDATE nodes SET lease_ends_at_ms = CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint) WHERE id = 'nd_1'",
  );
  await other.query('COMMIT');
  assert.equal((await beat).hadExpired, true);
});

test('a heartbeat gives up after about a second, and the next one uses another connection', async (t) => {
  const { nodes, other } = await world(t);
  await nodes.heartbeat(NODE, LONG_MS);
  await other.query("BEGIN; SELECT 1 FROM nodes WHERE id = 'nd_1' FOR UPDATE");
  await assert.rejects(nodes.heartbeat(NODE, LONG_MS), { code: 'ERR_POSTERN_STORE_UNAVAILABLE' });
  await other.query('ROLLBACK');
  assert.equal((await nodes.heartbeat(NODE, LONG_MS)).hadExpired, false);
});

/** Also when the work did not wait: then the test's assertion fails. */
async function waitsForLock(client: pg.Client, work: Promise<unknown>): Promise<void> {
  let isDone = false;
  void work.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    const { rows } = await client.query("SELECT 1 FROM pg_locks WHERE NOT granted AND locktype <> 'advisory'");
    if (rows.length > 0) return;
  }
}
