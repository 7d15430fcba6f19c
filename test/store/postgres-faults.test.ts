import assert from 'node:assert/strict';
import { chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StoreLocation } from '../../src/store/offline-database.ts';
import { createPool } from '../../src/store/postgres/server-pool.ts';
import type { Change, Store } from '../../src/store/store.ts';
import { committed, everything, put } from './conformance/store-under-test.ts';
import { emptyLocation, openAt, querySql, usePostgres } from './engines.ts';
import { mountSmallDisk } from './small-disk.ts';

usePostgres();

const NEVER_MS = 1_000_000;
const KILL_OTHERS =
  'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()';

test('processes that start together on an empty database create one store', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  const stores = await Promise.all(Array.from({ length: 4 }, () => openAt(location)));
  assert.equal(new Set(stores.map(({ accountId }) => accountId)).size, 1);
});

test('waits for the disk on a database that responds before it has written', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  const [{ name }] = (await querySql(location, 'SELECT current_database() AS name')) as [{ name: string }];
  await querySql(location, `ALTER DATABASE "${name}" SET synchronous_commit = off`);
  const store = await openAt(location);
  await committed(store, { puts: [put('edge', 'e1')] });
  const url = location.engine === 'postgres' ? location.url : '';
  const pool = createPool(url, 1);
  const seen = await pool.query<{ setting: string }>("SELECT current_setting('synchronous_commit') AS setting");
  await pool.end();
  assert.equal(seen.rows[0]?.setting, 'on');
});

test('a database with another default isolation does not fail a waiting writer', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  const [{ name }] = (await querySql(location, 'SELECT current_database() AS name')) as [{ name: string }];
  await querySql(location, `ALTER DATABASE "${name}" SET default_transaction_isolation = 'repeatable read'`);
  const stores = await Promise.all([openAt(location), openAt(location)]);
  for (let round = 0; round < 20; round += 1) {
    await Promise.all(stores.map((store, at) => committed(store, { puts: [put('edge', `e${at}-${round}`)] })));
  }
  assert.equal(await stores[0].currentRevision(), 40);
});

test('two stores notify each other by NOTIFY', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  const [one, other] = await Promise.all([
    openAt(location, { pollIntervalMs: NEVER_MS }),
    openAt(location, { pollIntervalMs: NEVER_MS }),
  ]);
  const heard = heardBy(other);
  await committed(one, { puts: [put('edge', 'e1')] });
  await until(() => heard.length > 0);
  assert.deepEqual(heard, [[]]);
  const feed = await other.changesSince(0);
  assert.deepEqual(feed.isComplete && feed.changes.length, 1);
});

test('a lost notification costs only latency: the poll finds the revision', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  const store = await openAt(location, { pollIntervalMs: 50 });
  const heard = heardBy(store);
  // As if another process had committed and its NOTIFY had been lost.
  await querySql(location, "UPDATE counter SET value = value + 1 WHERE name = 'revision'");
  await until(() => heard.length > 0);
  assert.deepEqual(heard, [[]]);
  await sleep(150);
  assert.equal(heard.length, 1, 'one revision is announced once');
});

test('own commits are announced with their changes, and not again by the own notification', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  const store = await openAt(location, { pollIntervalMs: 50 });
  const heard = heardBy(store);
  for (let n = 0; n < 5; n += 1) await committed(store, { puts: [put('edge', `e${n}`)] });
  await sleep(200);
  assert.equal(heard.filter((changes) => changes.length > 0).length, 5);
});

test('a commit after another store’s announces the gap', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  const store = await openAt(location, { pollIntervalMs: NEVER_MS });
  const heard = heardBy(store);
  await querySql(location, "UPDATE counter SET value = value + 1 WHERE name = 'revision'");
  await committed(store, { puts: [put('edge', 'e1')] });
  assert.deepEqual(
    heard.map((changes) => changes.length),
    [0, 1],
  );
});

test('writers of two stores share one sequence of revisions', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  const stores = await Promise.all([openAt(location), openAt(location)]);
  const revisions = await Promise.all(
    Array.from({ length: 60 }, async (_, at) => {
      const store = stores[at % 2] as Store;
      return (await committed(store, { puts: [put('edge', `e${at}`)] })).revision;
    }),
  );
  assert.deepEqual(
    revisions.sort((one, other) => one - other),
    Array.from({ length: 60 }, (_, at) => at + 1),
  );
});

test('another store cannot change what one has judged before it is written', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  const [one, other] = await Promise.all([openAt(location), openAt(location)]);
  await committed(one, { puts: [put('edge', 'shared', { doc: { n: 0 } })] });
  for (let round = 1; round <= 25; round += 1) {
    const revision = await one.currentRevision();
    const expect = [{ kind: 'edge', id: 'shared', revision }];
    const updates = [one, other].map((store) => store.commit({ expect, puts: [put('edge', 'shared')] }));
    assert.equal((await Promise.all(updates)).filter(({ ok }) => ok).length, 1, 'an update was lost');
    const uniqueKeys = [{ scope: 'hostport', key: `k${round}` }];
    const claims = [one, other].map((store, at) =>
      store.commit({ puts: [put('edge', `e${round}-${at}`, { uniqueKeys })] }),
    );
    const reasons = (await Promise.all(claims)).map((claim) => (claim.ok ? 'ok' : claim.reason));
    assert.deepEqual(reasons.sort(), ['ok', 'unique_key_taken']);
    await committed(one, { touches: [{ kind: 'edge', id: 'shared' }] });
  }
});

test('killed connections: requests in flight get an error, then everything works again without a restart', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  const store = await openAt(location, { pollIntervalMs: NEVER_MS });
  const heard = heardBy(store);
  for (let round = 0; round < 3; round += 1) {
    const writes = Promise.allSettled(
      Array.from({ length: 100 }, (_, at) => store.commit({ puts: [put('edge', `e${round}-${at}`)] })),
    );
    await sleep(5);
    await querySql(location, KILL_OTHERS);
    const outcomes = await writes;
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') assert.equal(outcome.reason.code, 'ERR_POSTERN_STORE_UNAVAILABLE');
    }
    await untilCommitted(store, `after-${round}`);
    const { records, revision } = await everything(store);
    assert.deepEqual(
      records.map((record) => record.revision).sort((one, other) => one - other),
      Array.from({ length: revision }, (_, at) => at + 1),
    );
  }
  // The listening connection recovered as well.
  const other = await openAt(location, { pollIntervalMs: NEVER_MS });
  const count = heard.length;
  for (let n = 0; heard.length === count; n += 1) {
    assert.ok(n < 100, 'no notification came after the connection was lost');
    await committed(other, { puts: [put('edge', 'again')] });
    await sleep(50);
  }
});

test('a full disk: 507, nothing lost, and writes continue once there is space', async (t) => {
  // Created first, so that its database is dropped first when the test ends; then the tablespace, then the disk.
  const location = await emptyLocation(t, 'postgres');
  const tablespace = `small_${process.pid}`;
  t.after(() => querySql(besides(location), `DROP TABLESPACE IF EXISTS ${tablespace}`));
  const disk = mountSmallDisk(t, 8);
  if (disk === null) {
    t.skip('needs a tmpfs for a tablespace, and mounting is not allowed here');
    return;
  }
  await moveTables(location, tablespace, disk);
  const store = await openAt(location);
  const filler = join(disk, 'filler');
  writeFileSync(filler, Buffer.alloc(3 * 1024 * 1024));
  const kept: string[] = [];
  let codes: unknown[] = [];
  for (let n = 0; n < 1_000 && codes.length === 0; n += 1) {
    const ids = Array.from({ length: 16 }, (_, at) => `e${String(n * 16 + at).padStart(5, '0')}`);
    const outcomes = await Promise.allSettled(
      ids.map((id) => committed(store, { puts: [put('edge', id, { doc: { filling: noise(8_000) } })] })),
    );
    codes = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.code] : []));
    if (codes.length === 0) kept.push(...ids);
  }
  assert.deepEqual(codes, Array(16).fill('ERR_POSTERN_STORE_FULL'), 'a group fails together, and says why');
  const { records, revision } = await everything(store);
  assert.deepEqual(
    records.map(({ id }) => id),
    kept,
  );
  assert.equal(revision, kept.length);
  rmSync(filler);
  await committed(store, { puts: [put('edge', 'after', { doc: { filling: noise(8_000) } })] });
});

function heardBy(store: Store): (readonly Change[])[] {
  const heard: (readonly Change[])[] = [];
  store.onCommitted((changes) => heard.push(changes));
  return heard;
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let waitedMs = 0; !isTrue(); waitedMs += 10) {
    assert.ok(waitedMs < 5_000, 'it did not happen');
    await sleep(10);
  }
}

/** PostgreSQL compresses repetitive data. */
function noise(length: number): string {
  return Array.from({ length: length / 8 }, () => Math.random().toString(36).slice(2, 10).padEnd(8, '0')).join('');
}

/** Only the tables of the future store will lie on the disk. */
async function moveTables(location: StoreLocation, tablespace: string, disk: string): Promise<void> {
  const directory = join(disk, 'tablespace');
  mkdirSync(directory);
  if (process.getuid?.() === 0) chownSync(directory, 65_534, 65_534);
  await querySql(location, `CREATE TABLESPACE ${tablespace} LOCATION '${directory}'`);
  const [row] = await querySql(location, 'SELECT current_database() AS name');
  await querySql(location, `ALTER DATABASE ${String(row?.['name'])} SET default_tablespace = ${tablespace}`);
}

/** Another database of the same server. */
function besides(location: StoreLocation): StoreLocation {
  if (location.engine !== 'postgres') return location;
  const url = new URL(location.url);
  url.pathname = '/postgres';
  return { ...location, url: url.href };
}

/** A connection of the pool may still be closing; its user gets "unavailable". */
async function untilCommitted(store: Store, id: string): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    try {
      await committed(store, { puts: [put('edge', id)] });
      return;
    } catch (error) {
      assert.equal((error as { code?: unknown }).code, 'ERR_POSTERN_STORE_UNAVAILABLE');
      assert.ok(Date.now() < deadline, 'the store did not recover');
    }
  }
}
