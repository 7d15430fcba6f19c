// Own process: it breaks and ends threads of the store, which other tests share.
import assert from 'node:assert/strict';
import { closeSync, existsSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { databasePath } from '../../src/store/data-directory.ts';
import type { CommitMark } from '../../src/store/sql/commit-rows.ts';
import { SqliteConnection } from '../../src/store/sqlite/sqlite-connection.ts';
import { WorkerThread } from '../../src/store/sqlite/sqlite-engine.ts';
import type { Store } from '../../src/store/store.ts';
import { committed, everything, put } from './conformance/store-under-test.ts';
import { emptyLocation, openAt } from './engines.ts';
import { mountSmallDisk } from './small-disk.ts';
import { spawnStore } from './spawn-store.ts';

const FULL = 'ERR_POSTERN_STORE_FULL';

test('rejects a second process on the data directory, by name, until the first is gone', async (t) => {
  const location = await emptyLocation(t, 'sqlite');
  const holder = spawnStore(t, location, 'hold');
  await holder.line('ready');
  const message = new RegExp(
    `process ${holder.child.pid} uses the data directory ${location.dataDir}: stop it, or .*POSTERN_DATA_DIR`,
  );
  await assert.rejects(openAt(location), { code: 'ERR_POSTERN_STORE_IN_USE', message });
  await holder.killed();
  const store = await openAt(location);
  const second = spawnStore(t, location, 'hold');
  assert.match(await second.line('error'), new RegExp(`ERR_POSTERN_STORE_IN_USE process ${process.pid} `));
  // The same process twice is rejected as well, and does not break the first one's lock.
  await assert.rejects(openAt(location), { code: 'ERR_POSTERN_STORE_IN_USE' });
  await store.close();
  const third = spawnStore(t, location, 'hold');
  await third.line('ready');
});

test('a full disk: 507 for the whole group, nothing lost, and writes continue once there is space', async (t) => {
  const disk = mountSmallDisk(t, 3);
  if (disk === null) {
    t.skip('mounting a tmpfs is not allowed here; the page limit below stands for it');
    return;
  }
  const location = { engine: 'sqlite', dataDir: join(disk, 'data') } as const;
  const store = await openAt(location);
  t.after(() => store.close());
  const filler = join(disk, 'filler');
  writeFileSync(filler, Buffer.alloc(1024 * 1024));
  const kept = await fillUntilFull(store);
  // Reads are not affected, and it stays full until there is space.
  assert.deepEqual(await idsOf(store), kept);
  await assert.rejects(store.commit({ puts: [big('still-full', 160_000)] }), { code: FULL });
  rmSync(filler);
  await committed(store, { puts: [big('after', 160_000)] });
  await store.close();
  const again = await openAt(location);
  t.after(() => again.close());
  assert.deepEqual(await idsOf(again), [...kept, 'after'].sort());
  assert.equal(await again.currentRevision(), kept.length + 1);
});

test('a page limit: the same, with space freed by deleting', async (t) => {
  const location = await emptyLocation(t, 'sqlite');
  const store = await openAt(location, { maxPages: 400 });
  const kept = await fillUntilFull(store);
  const revision = await store.currentRevision();
  assert.equal(revision, kept.length);
  const [first = '', ...rest] = kept;
  await committed(store, { deletes: [{ kind: 'edge', id: first }] });
  await committed(store, { puts: [big('after')] });
  assert.deepEqual(await idsOf(store), [...rest, 'after'].sort());
  assert.equal(await store.currentRevision(), revision + 2);
});

test('reports jobs that a failing group had committed individually before the disk was full', async (t) => {
  const location = await emptyLocation(t, 'sqlite');
  const store = await openAt(location, { maxPages: 400 });
  const known = { id: 'ev_1', type: 'x', createdAtMs: 1, payload: {} };
  await committed(store, { events: [known] });
  const outcomes = await Promise.allSettled([
    store.commit({ puts: [put('edge', 'e1')] }),
    store.commit({ puts: [put('edge', 'e2')], events: [known] }),
    // Flushes the statements before it, so that the group fails because of the event and not the disk.
    store.events.record([{ ...known, id: 'ev_2' }]),
    store.commit({ puts: [big('too-big', 4_000_000)] }),
    store.commit({ puts: [put('edge', 'e3')] }),
  ]);
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === 'fulfilled' ? 'ok' : outcome.reason.code === FULL ? FULL : 'bug')),
    ['ok', 'bug', 'ok', FULL, FULL],
  );
  assert.deepEqual(await idsOf(store), ['e1']);
});

test('a thread that dies fails its requests, and the next request gets a new one', async (t) => {
  const location = await emptyLocation(t, 'sqlite');
  await (await openAt(location)).close();
  const thread = threadOn(t, databasePath(location.dataDir));
  const read = () => thread.request({ do: 'read', job: { name: 'readRevision', args: [] }, view: null });
  assert.equal(await read(), 0);
  const pending = Array.from({ length: 50 }, () => read());
  await thread.kill();
  const outcomes = await Promise.allSettled(pending);
  const failures = outcomes.filter((outcome) => outcome.status === 'rejected');
  assert.ok(failures.length > 0);
  for (const { reason } of failures) assert.equal(reason.code, 'ERR_POSTERN_STORE_UNAVAILABLE');
  assert.equal(await read(), 0);
});

test('a probe keeps the locks that tell other processes about this one', async (t) => {
  if (!existsSync('/proc/locks')) {
    t.skip('this system does not list its locks');
    return;
  }
  const location = await emptyLocation(t, 'sqlite');
  await (await openAt(location)).close();
  const path = databasePath(location.dataDir);
  const thread = threadOn(t, path);
  const seen = (await thread.request({ do: 'read', job: { name: 'readCommit', args: [] }, view: null })) as CommitMark;
  const file = new RegExp(` ${process.pid} [0-9a-f]+:[0-9a-f]+:${statSync(path).ino} `);
  const isLocked = () => file.test(readFileSync('/proc/locks', 'utf8'));
  assert.ok(isLocked());
  await thread.request({ do: 'probe', seen });
  assert.ok(isLocked());
});

test('every connection syncs its log at each commit', async (t) => {
  // Killing a process does not reveal a missing fsync, only a power loss does; so the settings themselves are checked.
  const location = await emptyLocation(t, 'sqlite');
  await (await openAt(location)).close();
  const connection = new SqliteConnection({ path: databasePath(location.dataDir), access: 'write' });
  t.after(() => connection.close());
  const pragma = (name: string) => Object.values(connection.query({ sql: `PRAGMA ${name}`, params: [] })[0] ?? {});
  assert.deepEqual(pragma('journal_mode'), ['wal']);
  assert.deepEqual(pragma('synchronous'), [2]);
});

test('rejects a file that is not a database with a message, and leaves it unchanged', async (t) => {
  const location = await emptyLocation(t, 'sqlite');
  await (await openAt(location)).close();
  const path = databasePath(location.dataDir);
  writeFileSync(path, 'this is not a database, and long enough to be looked at by SQLite'.repeat(100));
  const before = readFileSync(path);
  await assert.rejects(openAt(location), { code: 'ERR_POSTERN_STORE_CORRUPT' });
  assert.deepEqual(readFileSync(path), before);
});

function big(id: string, bytes = 20_000) {
  return put('edge', id, { doc: { filling: 'x'.repeat(bytes) } });
}

/** Groups of eight until the store reports that it is full; returns the accepted ids. */
async function fillUntilFull(store: Store): Promise<string[]> {
  const kept: string[] = [];
  for (let group = 0; group < 1_000; group += 1) {
    const ids = Array.from({ length: 8 }, (_, at) => `e${String(group).padStart(4, '0')}-${at}`);
    const outcomes = await Promise.allSettled(ids.map((id) => store.commit({ puts: [big(id)] })));
    const failed = outcomes.filter((outcome) => outcome.status === 'rejected');
    for (const { reason } of failed) assert.equal(reason.code, FULL, reason.stack);
    if (failed.length > 0) {
      assert.equal(failed.length, 8, 'a group fails together');
      return kept.sort();
    }
    kept.push(...ids);
    await sleep(0);
  }
  throw new Error('the disk did not fill up');
}

async function idsOf(store: Store): Promise<string[]> {
  const { records } = await everything(store);
  return records.map(({ id }) => id).sort();
}

function threadOn(t: TestContext, path: string): WorkerThread {
  const headerFile = openSync(path, 'r');
  const thread = new WorkerThread({ path, access: 'write', maxPages: undefined, headerFile, reserveIn: null });
  t.after(async () => {
    await thread.close();
    closeSync(headerFile);
  });
  return thread;
}
