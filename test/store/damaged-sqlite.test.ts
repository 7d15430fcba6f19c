import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PosternError } from '../../src/kit/errors.ts';
import { fromSqliteError, SqliteConnection } from '../../src/store/sqlite/sqlite-connection.ts';
import type { Store, StoreState } from '../../src/store/store.ts';
import { committed, put } from './conformance/store-under-test.ts';
import { emptyLocation, openAt } from './engines.ts';

const PROBE_MS = 50;

interface Damage {
  readonly title: string;
  readonly code: string;
  readonly says: RegExp;
  readonly does: (dataDir: string) => void;
}

const file = (dataDir: string, suffix = '') => join(dataDir, `postern.sqlite${suffix}`);

const DAMAGES: readonly Damage[] = [
  {
    title: 'the data directory is removed',
    code: 'ERR_POSTERN_STORE_GONE',
    says: /postern\.sqlite was removed while the server was running.*restore a backup/,
    does: (dataDir) => rmSync(dataDir, { recursive: true }),
  },
  {
    title: 'the data directory is replaced by an empty one',
    code: 'ERR_POSTERN_STORE_GONE',
    says: /was removed/,
    does: (dataDir) => {
      renameSync(dataDir, `${dataDir}-away`);
      mkdirSync(dataDir);
    },
  },
  {
    title: 'the database is replaced by a restored copy',
    code: 'ERR_POSTERN_STORE_GONE',
    says: /postern\.sqlite was replaced by another file/,
    does: (dataDir) => {
      copyFileSync(file(dataDir), file(dataDir, '.copy'));
      renameSync(file(dataDir, '.copy'), file(dataDir));
    },
  },
  {
    title: 'the log is removed',
    code: 'ERR_POSTERN_STORE_GONE',
    says: /postern\.sqlite-wal was removed/,
    does: (dataDir) => rmSync(file(dataDir, '-wal')),
  },
  {
    title: 'the index of the log is removed',
    code: 'ERR_POSTERN_STORE_GONE',
    says: /postern\.sqlite-shm was removed/,
    does: (dataDir) => rmSync(file(dataDir, '-shm')),
  },
  {
    title: 'the lock is removed, so that another process could open the store',
    code: 'ERR_POSTERN_STORE_GONE',
    says: /postern\.lock was removed/,
    does: (dataDir) => rmSync(join(dataDir, 'postern.lock')),
  },
  {
    title: 'the database is truncated',
    code: 'ERR_POSTERN_STORE_CORRUPT',
    says: /postern\.sqlite is damaged: it was truncated from \d+ to \d+ bytes.*postern store restore --replace/,
    does: (dataDir) => truncateSync(file(dataDir), statSync(file(dataDir)).size - 4096),
  },
];

test('a connection for reading creates no database', async (t) => {
  const { dataDir } = await emptyLocation(t, 'sqlite');
  mkdirSync(dataDir, { recursive: true });
  // SQLite would decode it in a URL.
  const path = join(dataDir, 'a %20?#&name.sqlite');
  assert.throws(() => new SqliteConnection({ path, access: 'read' }), /unable to open|cannot be opened|could not/);
  assert.equal(existsSync(path), false);
  new SqliteConnection({ path, access: 'write' }).close();
  new SqliteConnection({ path, access: 'read' }).close();
  assert.equal(existsSync(path), true);
});

suite('while a SQLite store is open', () => {
  for (const { title, code, says, does } of DAMAGES) {
    test(`${title}: the next write is rejected, and the store says what to do`, async (t) => {
      const location = await emptyLocation(t, 'sqlite');
      const store = await openAt(location, { probeIntervalMs: PROBE_MS });
      await committed(store, { puts: [put('edge', 'e1')] });
      assert.equal(store.health().state, 'ok');
      does(location.dataDir);
      await assert.rejects(store.commit({ puts: [put('edge', 'e2')] }), { code, message: says });
      await untilState(store, 'failed');
      assert.equal(store.health().problem?.code, code);
    });

    test(`${title}: detected without a write`, async (t) => {
      const location = await emptyLocation(t, 'sqlite');
      const store = await openAt(location, { probeIntervalMs: PROBE_MS });
      await committed(store, { puts: [put('edge', 'e1')] });
      // The reading thread remembers the files that it has open when it first reads.
      await store.currentRevision();
      does(location.dataDir);
      await untilState(store, 'failed');
      assert.match(store.health().problem?.message ?? '', says);
    });
  }

  for (const { title, at } of [
    { title: 'at its beginning', at: () => 0 },
    { title: 'in its middle', at: (bytes: number) => Math.trunc(bytes / 8192) * 4096 },
  ]) {
    test(`the database is overwritten ${title}: the store has failed, and stays so`, async (t) => {
      const location = await emptyLocation(t, 'sqlite');
      const first = await openAt(location);
      await committed(first, { puts: Array.from({ length: 500 }, (_, n) => put('edge', `e${n}`, { doc: { n } })) });
      // Closing moves the log into the database.
      await first.close();
      const store = await openAt(location, { probeIntervalMs: PROBE_MS });
      await store.currentRevision();
      assert.equal(store.health().state, 'ok');
      const descriptor = openSync(file(location.dataDir), 'r+');
      const noise = Buffer.alloc(statSync(file(location.dataDir)).size / 2, 0xab);
      writeSync(descriptor, noise, 0, noise.length, at(statSync(file(location.dataDir)).size));
      await untilState(store, 'failed');
      assert.equal(store.health().problem?.code, 'ERR_POSTERN_STORE_CORRUPT');
      assert.match(store.health().problem?.message ?? '', /postern\.sqlite is damaged.*restore a backup/);
    });
  }

  test('putting a moved file back ends the failure', async (t) => {
    const location = await emptyLocation(t, 'sqlite');
    const store = await openAt(location, { probeIntervalMs: PROBE_MS });
    await committed(store, { puts: [put('edge', 'e1')] });
    renameSync(location.dataDir, `${location.dataDir}-away`);
    await assert.rejects(store.commit({ puts: [put('edge', 'e2')] }), { code: 'ERR_POSTERN_STORE_GONE' });
    renameSync(`${location.dataDir}-away`, location.dataDir);
    await untilState(store, 'ok');
    await committed(store, { puts: [put('edge', 'e2')] });
  });

  test('an unreachable data directory rejects writes with a named error, and the store recovers automatically', async (t) => {
    const location = await emptyLocation(t, 'sqlite');
    const store = await openAt(location, { probeIntervalMs: PROBE_MS });
    await committed(store, { puts: [put('edge', 'e1')] });
    await store.currentRevision();
    const away = `${location.dataDir}-away`;
    renameSync(location.dataDir, away);
    // As for a directory that this user may not search: the system says neither that the file exists nor that it does
    // not.
    symlinkSync(location.dataDir, location.dataDir);
    const failure = { code: 'ERR_POSTERN_STORE_UNAVAILABLE', message: /cannot be read \(ELOOP.*data directory/ };
    await assert.rejects(store.commit({ puts: [put('edge', 'e2')] }), failure);
    await assert.rejects(Promise.all(['e3', 'e4'].map((id) => store.commit({ puts: [put('edge', id)] }))), failure);
    await untilState(store, 'degraded');
    assert.equal(store.health().problem?.code, failure.code);
    rmSync(location.dataDir);
    renameSync(away, location.dataDir);
    await untilState(store, 'ok');
    await committed(store, { puts: [put('edge', 'e2')] });
  });

  test('a full disk degrades the store, and it recovers automatically', async (t) => {
    const store = await openAt(await emptyLocation(t, 'sqlite'), { probeIntervalMs: PROBE_MS, maxPages: 80 });
    const tooLarge = put('edge', 'e1', { doc: { text: 'x'.repeat(400_000) } });
    await assert.rejects(committed(store, { puts: [tooLarge] }), {
      code: 'ERR_POSTERN_STORE_FULL',
      message: /postern\.sqlite is full/,
    });
    assert.equal(store.health().state, 'degraded');
    await untilState(store, 'ok');
  });

  test('reports a read-only database with its file and what to do', async (t) => {
    const location = await emptyLocation(t, 'sqlite');
    // Simulates a file system mounted read-only: SQLite reports both alike.
    const error = Object.assign(new Error('attempt to write a readonly database'), { errcode: 8 });
    const { code, status, message } = fromSqliteError(error, file(location.dataDir)) as PosternError;
    assert.deepEqual([code, status], ['ERR_POSTERN_STORE_READ_ONLY', 503]);
    assert.match(message, /postern\.sqlite is not writable.*mount its disk read-write/);
  });
});

async function untilState(store: Store, state: StoreState): Promise<void> {
  for (let waitedMs = 0; store.health().state !== state; waitedMs += 20) {
    assert.ok(
      waitedMs < 60_000,
      `the store is ${store.health().state}, not ${state}: ${store.health().problem?.message}`,
    );
    await sleep(20);
  }
}
