import assert from 'node:assert/strict';
import {
  cpSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { backupStore } from '../../src/store/backup/backup-store.ts';
import { restoreStore } from '../../src/store/backup/restore-store.ts';
import type { SqliteLocation } from '../../src/store/offline-database.ts';
import { rotateKey } from '../../src/store/rotate-key.ts';
import { reportStore } from '../../src/store/store-upkeep.ts';
import { tempDir } from '../support/temp-dir.ts';
import { committed, everything, put } from './conformance/store-under-test.ts';
import { emptyLocation, openAt } from './engines.ts';
import { spawnStore } from './spawn-store.ts';

const PAGE = 4096;
const ENOUGH_LINES = 40;
const file = ({ dataDir }: SqliteLocation, suffix = ''): string => join(dataDir, `postern.sqlite${suffix}`);

/** The data directory of a server that was killed while it wrote. */
async function killed(): Promise<{ readonly location: SqliteLocation; readonly revision: number }> {
  const location = (await emptyLocation({ after }, 'sqlite')) as SqliteLocation;
  const server = spawnStore({ after }, location, 'write');
  await server.line('ok');
  // Few enough to be in the log alone.
  while (server.output.length < ENOUGH_LINES) await sleep(1);
  await server.killed();
  const answered = server.output.filter((line) => line.startsWith('ok '));
  return { location, revision: Math.max(...answered.map((line) => Number(line.split(' ')[2]))) };
}

const [one, other] = await Promise.all([killed(), killed()]);

async function copyOfOne(): Promise<SqliteLocation> {
  const dataDir = join(await tempDir({ after }), 'data');
  cpSync(one.location.dataDir, dataDir, { recursive: true });
  return { engine: 'sqlite', dataDir };
}

suite('after a kill', () => {
  test('an intact log is replayed, and nothing is reported', async () => {
    const store = await openAt(await copyOfOne());
    assert.equal(store.loss, null);
    const { revision } = await everything(store);
    assert.ok(revision >= one.revision);
    await store.close();
  });

  for (const [title, lose] of [
    ['removed', (log: string) => rmSync(log)],
    ['emptied', (log: string) => truncateSync(log, 0)],
    ['cut in half', (log: string) => truncateSync(log, Math.trunc(statSync(log).size / 2))],
    ['cut to a quarter', (log: string) => truncateSync(log, Math.trunc(statSync(log).size / 4))],
    ['overwritten in its middle', (log: string) => overwrite(log, Math.trunc(statSync(log).size / 2), 100)],
  ] as const) {
    test(`a log that was ${title} is reported when the store is opened, once`, async () => {
      const location = await copyOfOne();
      lose(file(location, '-wal'));
      const store = await openAt(location);
      const { revision } = await everything(store);
      assert.ok(revision < one.revision);
      assert.match(store.loss ?? '', new RegExp(`lost commits: .*ends with revision ${revision} `));
      assert.match(store.loss ?? '', /restore a backup/);
      const lines: string[] = [];
      const logger = pino({}, { write: (line: string) => lines.push(line) });
      reportStore(store, logger).close();
      assert.match(lines.join(''), /"level":50.*lost commits/);
      await committed(store, { puts: [put('edge', 'after')] });
      await store.close();
      const again = await openAt(location);
      assert.equal(again.loss, null);
      await again.close();
    });
  }

  test('an older copy of the database without its log is reported', async () => {
    const location = await copyOfOne();
    const store = await openAt(location);
    await store.close();
    const old = `${file(location)}.old`;
    cpSync(file(location), old);
    const next = await openAt(location);
    await committed(next, { puts: [put('edge', 'later')] });
    await next.close();
    cpSync(old, file(location));
    const back = await openAt(location);
    assert.match(back.loss ?? '', /lost commits/);
    await back.close();
  });

  test("another database's log is refused, and is not replayed", async () => {
    const location = await copyOfOne();
    cpSync(file(other.location, '-wal'), file(location, '-wal'));
    const before = statSync(file(location)).mtimeMs;
    const refusal = { code: 'ERR_POSTERN_STORE_CORRUPT', message: /-wal does not belong to .*last-commit/ };
    await assert.rejects(openAt(location), refusal);
    await assert.rejects(backupStore({ source: location, file: join(location.dataDir, 'x.backup') }), refusal);
    await assert.rejects(rotateKey({ target: location }), refusal);
    assert.equal(statSync(file(location)).mtimeMs, before);
    cpSync(file(one.location, '-wal'), file(location, '-wal'));
    const store = await openAt(location);
    assert.ok((await everything(store)).revision >= one.revision);
    await store.close();
  });

  for (const [title, lose] of [
    ['missing', (path: string) => rmSync(path)],
    ['empty', (path: string) => truncateSync(path, 0)],
  ] as const) {
    test(`a database that is ${title} is not taken for a new one`, async () => {
      const location = await copyOfOne();
      lose(file(location));
      const message = new RegExp(`is ${title}, but this data directory had revision \\d+.*restore a backup`);
      await assert.rejects(openAt(location), { code: 'ERR_POSTERN_STORE_CORRUPT', message });
      for (const suffix of ['', '-wal', '-shm']) rmSync(file(location, suffix), { force: true });
      rmSync(join(location.dataDir, 'last-commit'));
      const store = await openAt(location);
      assert.equal((await everything(store)).revision, 0);
      await store.close();
    });
  }

  test('a torn last-commit says nothing', async () => {
    const location = await copyOfOne();
    for (const content of ['', '\0'.repeat(256), 'ffffffff {}\n', '{}']) {
      writeFileSync(join(location.dataDir, 'last-commit'), content);
      const store = await openAt(location);
      assert.equal(store.loss, null);
      await store.close();
    }
  });

  test('a restored backup is not a loss', async () => {
    const location = await copyOfOne();
    const backup = join(location.dataDir, 'a.backup');
    await backupStore({ source: location, file: backup });
    const store = await openAt(location);
    await committed(store, { puts: [put('edge', 'later')] });
    await store.close();
    await restoreStore({ target: location, file: backup, replace: true });
    const restored = await openAt(location);
    assert.equal(restored.loss, null);
    await restored.close();
  });

  test('a killed command that left a log of its own does not keep the server from starting', async () => {
    const location = await copyOfOne();
    // As a backup does: the log is folded and removed, and last-commit still names it.
    await backupStore({ source: location, file: join(location.dataDir, 'a.backup') });
    await rotateKey({ target: location });
    const { logSalt } = JSON.parse(/\{.*\}/.exec(contentOf(join(location.dataDir, 'last-commit')))?.[0] ?? '');
    assert.equal(logSalt, null);
    const store = await openAt(location);
    assert.equal(store.loss, null);
    await store.close();
  });
});

suite('a flipped page', () => {
  test('is reported when the store is opened, wherever it is, with what to do', async (t) => {
    const made = (await emptyLocation(t, 'sqlite')) as SqliteLocation;
    const first = await openAt(made);
    await committed(first, { puts: Array.from({ length: 300 }, (_, n) => put('edge', `e${n}`, { doc: { n } })) });
    await first.close();
    const pages = statSync(file(made)).size / PAGE;
    assert.ok(pages > 30);
    for (let page = 0; page < pages; page += 3) {
      const location: SqliteLocation = { engine: 'sqlite', dataDir: join(await tempDir(t), 'data') };
      mkdirSync(location.dataDir);
      cpSync(made.dataDir, location.dataDir, { recursive: true });
      overwrite(file(location), page * PAGE, PAGE);
      await assert.rejects(openAt(location), {
        code: 'ERR_POSTERN_STORE_CORRUPT',
        message: /postern\.sqlite is damaged: .*restore a backup \(postern store restore --replace\)/,
      });
    }
  });

  test('that a read finds makes the store failed at once, and the read says what to do', async (t) => {
    const location = (await emptyLocation(t, 'sqlite')) as SqliteLocation;
    const first = await openAt(location);
    await committed(first, { puts: Array.from({ length: 500 }, (_, n) => put('edge', `e${n}`, { doc: { n } })) });
    await first.close();
    const store = await openAt(location, { probeIntervalMs: 3_600_000 });
    const { size } = statSync(file(location));
    overwrite(file(location), PAGE, size - PAGE);
    await assert.rejects(everything(store), { code: 'ERR_POSTERN_STORE_CORRUPT', message: /restore a backup/ });
    assert.equal(store.health().state, 'failed');
  });
});

/** Every bit is flipped. */
function overwrite(path: string, at: number, count: number): void {
  const descriptor = openSync(path, 'r+');
  const bytes = Buffer.alloc(count);
  readSync(descriptor, bytes, 0, count, at);
  writeSync(
    descriptor,
    bytes.map((byte) => byte ^ 0xff),
    0,
    count,
    at,
  );
}

function contentOf(path: string): string {
  const bytes = Buffer.alloc(256);
  readSync(openSync(path, 'r'), bytes);
  return bytes.toString();
}
