import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { suite, test } from 'node:test';
import { openOfflineDatabase } from '../../src/store/offline-database.ts';
import { migrate } from '../../src/store/sql/schema/migrate.ts';
import { currentSchema, migrations } from '../../src/store/sql/schema/migrations.ts';
import { dropIndex, dropTable, index, schemaAfter, table, textColumn } from '../../src/store/sql/schema/schema.ts';
import { feedLogin } from '../support/feed-logins.ts';
import { committed, everything, put } from './conformance/store-under-test.ts';
import { ENGINES, emptyLocation, openAt, querySql, usePostgres } from './engines.ts';
import { introspect, ordered } from './introspect.ts';
import { nextStore } from './next-store.ts';

usePostgres();

/** Migrations that existing stores have run. A released one never changes; a new one gets a new line. */
const PUBLISHED = [
  { version: 1, fingerprint: 'e675ae4148e6395d' },
  { version: 2, fingerprint: '166362d8add9a9aa' },
];

test('published migrations are unchanged', () => {
  const fingerprints = migrations.map(({ version, steps }) => ({
    version,
    fingerprint: createHash('sha256').update(JSON.stringify(steps)).digest('hex').slice(0, 16),
  }));
  assert.deepEqual(fingerprints, PUBLISHED);
});

test('dropped tables are gone from the description, with their indexes', () => {
  const steps = [table('a', [textColumn('x')], ['x']), index('a', ['x']), table('b', [textColumn('x')], ['x'])];
  const again = [dropTable('a'), table('a', [textColumn('y')], ['y'])];
  const { tables, indexes } = schemaAfter([
    { version: 1, steps },
    { version: 2, steps: again },
  ]);
  assert.deepEqual(
    tables.map(({ name, primaryKey }) => [name, primaryKey]),
    [
      ['b', ['x']],
      ['a', ['y']],
    ],
  );
  assert.deepEqual(indexes, []);
  const indexed = { version: 1, steps: [...steps, index('a', ['x', 'y'])] };
  assert.deepEqual(
    schemaAfter([indexed, { version: 2, steps: [dropIndex('a', ['x'])] }]).indexes.map(({ name }) => name),
    ['a_by_x_y'],
  );
});

test('both engines match the description exactly', async (t) => {
  for (const engine of ENGINES) {
    const location = await emptyLocation(t, engine);
    await openAt(location);
    assert.deepEqual(await introspect(location), ordered(currentSchema), engine);
  }
});

for (const engine of ENGINES) {
  suite(engine, () => {
    test('a later version migrates existing data once', async (t) => {
      const location = await emptyLocation(t, engine);
      const store = await openAt(location);
      await store.commit({ puts: [put('edge', 'e1')] });
      await store.close();
      const version = currentSchema.version + 1;
      const next = [
        ...migrations,
        { version, steps: [table('extra', [textColumn('name')], ['name']), index('events', ['type'])] },
      ];
      for (let round = 0; round < 2; round += 1) {
        const database = openOfflineDatabase(location, 'write');
        await database.transaction('write', (run) => run(migrate({ dialect: database.dialect, migrations: next })));
        await database.close();
      }
      assert.deepEqual(await introspect(location), ordered(schemaAfter(next)));
      assert.deepEqual((await querySql(location, 'SELECT id FROM records')).length, 1);
      await assert.rejects(openAt(location), {
        code: 'ERR_POSTERN_STORE_TOO_NEW',
        message: new RegExp(`schema version ${version}.*up to ${currentSchema.version}`),
      });
    });

    for (const kind of ['additive', 'breaking'] as const) {
      test(`the next version opens a store of this one with all its data, after ${kind} changes`, async (t) => {
        const location = await emptyLocation(t, engine);
        const before = await openAt(location);
        await before.commit({ puts: [put('edge', 'e1', { secrets: { token: 'a secret' } })] });
        await feedLogin(before, 'as_1');
        const known = await everything(before);
        await before.close();
        const next = await nextStore(kind);
        const store = await next.openAt(location);
        assert.deepEqual(await introspect(location), ordered(next.schema));
        assert.deepEqual(await everything(store), known);
        assert.equal((await store.logins.getSession('as_1'))?.id, 'as_1');
        assert.equal((await committed(store, { puts: [put('edge', 'e2')] })).revision, known.revision + 1);
      });
    }

    for (const [lacking, change] of [
      ['the column chain in the table history', 'ALTER TABLE history RENAME COLUMN chain TO other'],
      ['the table commits', 'DROP TABLE commits'],
    ] as const) {
      test(`a store of another commit, which lacks ${lacking}, is refused as such`, async (t) => {
        const location = await emptyLocation(t, engine);
        await (await openAt(location)).close();
        await querySql(location, change);
        await assert.rejects(openAt(location), {
          code: 'ERR_POSTERN_STORE_OTHER_BUILD',
          message: new RegExp(`the store lacks ${lacking}.*another commit of Postern wrote it`),
        });
      });
    }

    test('a newer store is rejected and unchanged', async (t) => {
      const location = await emptyLocation(t, engine);
      await (await openAt(location)).close();
      await querySql(location, "UPDATE meta SET value = '99' WHERE name = 'schema_version'");
      const before = await querySql(location, 'SELECT * FROM meta ORDER BY name');
      await assert.rejects(openAt(location), { code: 'ERR_POSTERN_STORE_TOO_NEW', message: /99/ });
      assert.deepEqual(await querySql(location, 'SELECT * FROM meta ORDER BY name'), before);
    });
  });
}
