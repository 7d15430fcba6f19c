import assert from 'node:assert/strict';
import { copyFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { backupStore } from '../../src/store/backup/backup-store.ts';
import { restoreStore } from '../../src/store/backup/restore-store.ts';
import { createPostgresOfflineDatabase, type StoreLocation } from '../../src/store/offline-database.ts';
import { type Program, queryOne, text } from '../../src/store/sql/statement.ts';
import { feedLogin } from '../support/feed-logins.ts';
import { isLong } from '../support/share-of-cases.ts';
import { tempDir } from '../support/temp-dir.ts';
import { committed, everything, put } from './conformance/store-under-test.ts';
import { ENGINES, type EngineName, emptyLocation, openAt, querySql, usePostgres } from './engines.ts';
import { contents, fill, MORE_THAN_A_BATCH } from './filled-store.ts';
import { introspect, ordered } from './introspect.ts';
import { nextStore } from './next-store.ts';

usePostgres();

const INVALID = { code: 'ERR_POSTERN_BACKUP_INVALID' };
const passphrase = 'correct horse';
const FLIPS = isLong ? 25 : 10;

suite('backup and restore', { concurrency: 2 }, () => {
  for (const from of ENGINES) {
    for (const to of isLong ? ENGINES : ENGINES.filter((engine) => engine !== from)) {
      test(`${from} → ${to}: everything but leases, with the key under a passphrase`, async (t) => {
        const { source, store, file } = await filledStore(t, from, MORE_THAN_A_BATCH);
        const before = await everything(store);
        // While the store is open: a server is running.
        const progress: number[] = [];
        const made = await backupStore({
          source,
          file,
          withKey: { passphrase },
          onProgress: ({ rowsDone }) => progress.push(rowsDone),
        });
        assert.equal(made.records, before.records.length);
        assert.equal(made.revision, before.revision);
        assert.equal(made.isKeyIncluded, true);
        assert.equal(progress.at(-1), made.rows);
        assert.equal(statSync(file).mode & 0o077, 0);
        assert.ok(!existsSync(`${file}.partial`));

        const target = await emptyLocation(t, to);
        const restored = await restoreStore({ target, file, passphrase: async () => passphrase, replace: false });
        assert.deepEqual(restored, {
          revision: made.revision,
          records: made.records,
          rows: made.rows,
          missingKeyIds: [],
        });
        assert.deepEqual(await contents(target), await contents(source));
        const again = await openAt(target);
        assert.deepEqual(await everything(again), before);
        assert.equal(again.accountId, store.accountId);
        assert.deepEqual(await again.logins.getSession('as_1'), await store.logins.getSession('as_1'));
        assert.deepEqual(await again.logins.changesSince(0), await store.logins.changesSince(0));
        assert.deepEqual(await again.presence.list('tunnel', { beforeId: null, limit: 9, nowMs: 0 }), []);
        assert.equal((await committed(again, { puts: [put('edge', 'new')] })).revision, before.revision + 1);
      });
    }
  }

  for (const engine of ENGINES) {
    test(`${engine}: a backup during writes is one consistent view`, async (t) => {
      const { source, store, file } = await filledStore(t, engine, MORE_THAN_A_BATCH);
      let isDone = false;
      const writing = (async () => {
        for (let n = 0; !isDone; n += 1) {
          await committed(store, { puts: [put('a', 'first', { doc: { n } }), put('z', 'last', { doc: { n } })] });
        }
      })();
      const made = await backupStore({ source, file });
      isDone = true;
      await writing;
      const rows = linesOf(file).filter((line): line is unknown[] => Array.isArray(line));
      const docs = rows
        .filter(([table, kind]) => table === 'records' && (kind === 'a' || kind === 'z'))
        .map((row) => row[5]);
      assert.equal(docs[0], docs[1]);
      const counter = rows.find(([table, name]) => table === 'counter' && name === 'revision');
      assert.equal(counter?.[2], made.revision);
    });

    test(`${engine}: replaces a store with records only on request`, async (t) => {
      const { source, store, file } = await filledStore(t, engine);
      await backupStore({ source, file });
      await committed(store, { puts: [put('edge', 'later')] });
      await store.close();
      const before = await contents(source);
      await assert.rejects(restoreStore({ target: source, file, replace: false }), {
        code: 'ERR_POSTERN_RESTORE_NOT_EMPTY',
      });
      assert.deepEqual(await contents(source), before);
      await restoreStore({ target: source, file, replace: true });
      const again = await openAt(source);
      assert.ok(!(await everything(again)).records.some(({ id }) => id === 'later'));
    });

    test(`${engine}: a store that was only opened counts as empty`, async (t) => {
      const { source, file } = await filledStore(t, engine);
      await backupStore({ source, file });
      const target = await emptyLocation(t, engine);
      await (await openAt(target)).close();
      // The store's key differs, so it is replaced.
      await assert.rejects(restoreStore({ target, file, replace: false }), { code: 'ERR_POSTERN_SECRET_KEY' });
      rmSync(join(target.dataDir, 'secret.key'));
      const { missingKeyIds } = await restoreStore({ target, file, replace: false });
      assert.equal(missingKeyIds.length, 1);
      await assert.rejects(openAt(target), { code: 'ERR_POSTERN_SECRET_KEY' });
      copyFileSync(join(source.dataDir, 'secret.key'), join(target.dataDir, 'secret.key'));
      await openAt(target);
    });

    test(`${engine}: the next version restores a backup of this one into its own tables`, async (t) => {
      const { source, store, file } = await filledStore(t, engine);
      await backupStore({ source, file, withKey: { passphrase } });
      const target = await emptyLocation(t, engine);
      const next = await nextStore('breaking');
      await next.restoreStore({ target, file, passphrase, replace: false });
      assert.deepEqual(await introspect(target), ordered(next.schema));
      const restored = await next.openAt(target);
      assert.deepEqual(await everything(restored), await everything(store));
      assert.deepEqual(await restored.logins.getSession('as_1'), await store.logins.getSession('as_1'));
      await feedLogin(restored, 'as_2');
    });

    test(`${engine}: a running server keeps its store`, async (t) => {
      const { source, store, file } = await filledStore(t, engine);
      await backupStore({ source, file });
      const before = await contents(source);
      await assert.rejects(restoreStore({ target: source, file, replace: true }), { code: 'ERR_POSTERN_STORE_IN_USE' });
      assert.deepEqual(await contents(source), before);
      await committed(store, { puts: [put('edge', 'goes-on')] });
    });

    test(`${engine}: a damaged backup changes nothing`, async (t) => {
      const { source, store, file } = await filledStore(t, engine);
      await backupStore({ source, file });
      await store.close();
      const before = await contents(source);
      const whole = readFileSync(file);
      const refuse = async (bytes: Buffer, what: string) => {
        writeFileSync(file, bytes);
        await assert.rejects(restoreStore({ target: source, file, replace: true }), INVALID, what);
      };
      for (const length of [0, 1, 9, 100, whole.length >> 1, whole.length - 9, whole.length - 1]) {
        await refuse(whole.subarray(0, length), `cut to ${length} bytes`);
      }
      // The ten bytes of the gzip header describe the file, not its content.
      for (let at = 10; at < whole.length; at += Math.ceil(whole.length / FLIPS)) {
        const flipped = Buffer.from(whole);
        flipped.writeUInt8(flipped.readUInt8(at) ^ 0x10, at);
        await refuse(flipped, `a bit flipped at ${at}`);
      }
      const lines = gunzipSync(whole).toString().trimEnd().split('\n');
      const pack = (edited: readonly string[]) => gzipSync(`${edited.join('\n')}\n`);
      await refuse(pack(lines.slice(0, -1)), 'no trailer');
      await refuse(pack(lines.toSpliced(5, 1)), 'a line left out');
      await refuse(pack(lines.with(-3, (lines.at(-3) ?? '').replace('1', '2'))), 'a value changed');
      await refuse(pack([...lines, lines[1] ?? '']), 'a line after the end');
      await refuse(gzipSync('{"format":"something else"}\n'), 'another kind of file');
      assert.deepEqual(await contents(source), before);
      writeFileSync(file, whole);
      await restoreStore({ target: source, file, replace: true });
      assert.deepEqual(await contents(source), before);
    });
  }

  test('postgres: a backup may wait for its file between two pages', async (t) => {
    const source = await emptyLocation(t, 'postgres');
    await openAt(source);
    assert.ok(source.engine === 'postgres');
    const database = createPostgresOfflineDatabase(source.url);
    t.after(() => database.close());
    function* shown(): Program<string> {
      const row = yield* queryOne('SHOW idle_in_transaction_session_timeout', []);
      return row === null ? '' : text(row, 'idle_in_transaction_session_timeout');
    }
    for (const mode of ['read', 'write'] as const) {
      assert.equal(await database.transaction(mode, (run) => run(shown())), '5min');
    }
  });

  test('a wrong or missing passphrase restores nothing', async (t) => {
    const { source, file } = await filledStore(t, 'sqlite');
    await backupStore({ source, file, withKey: { passphrase } });
    const target = await emptyLocation(t, 'sqlite');
    await assert.rejects(restoreStore({ target, file, replace: false, passphrase: 'wrong' }), {
      ...INVALID,
      message: /passphrase/,
    });
    await assert.rejects(restoreStore({ target, file, replace: false }), { ...INVALID, message: /passphrase/ });
    assert.ok(!existsSync(join(target.dataDir, 'postern.sqlite')));
    assert.ok(!existsSync(join(target.dataDir, 'secret.key')));
    assert.ok(
      !gunzipSync(readFileSync(file)).includes(readFileSync(join(source.dataDir, 'secret.key')).toString().trim()),
    );
  });

  test('rejects a backup of a newer version', async (t) => {
    const { source, store, file } = await filledStore(t, 'sqlite');
    await store.close();
    await querySql(source, "UPDATE meta SET value = '99' WHERE name = 'schema_version'");
    await assert.rejects(backupStore({ source, file }), { code: 'ERR_POSTERN_STORE_TOO_NEW' });
    assert.ok(!existsSync(file));
  });

  test('makes no backup of a missing store', async (t) => {
    const source = await emptyLocation(t, 'sqlite');
    await assert.rejects(backupStore({ source, file: join(await tempDir(t), 'b') }), {
      code: 'ERR_POSTERN_STORE_UNAVAILABLE',
    });
    assert.ok(!existsSync(source.dataDir));
  });
});

async function filledStore(t: TestContext, engine: EngineName, rows = 50) {
  const source: StoreLocation = await emptyLocation(t, engine);
  const store = await openAt(source);
  await fill(store, rows);
  return { source, store, file: join(await tempDir(t), 'backup.gz') };
}

function linesOf(file: string): unknown[] {
  return gunzipSync(readFileSync(file))
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}
