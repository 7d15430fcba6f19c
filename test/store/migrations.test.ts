import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { suite, test } from 'node:test';
import { openOfflineDatabase } from '../../src/store/offline/open-offline-database.ts';
import { migrate } from '../../src/store/sql/schema/migrate.ts';
import { currentSchema, migrations } from '../../src/store/sql/schema/migrations.ts';
import { dropIndex, dropTable, index, schemaAfter, table, textColumn } from '../../src/store/sql/schema/schema.ts';
import { feedLogin } from '../support/feed-logins.ts';
import { claimOne, destinationPut, event, ledger, subscriptionPut } from './conformance/lane-world.ts';
import { put } from './conformance/store-under-test.ts';
import { ENGINES, emptyLocation, openAt, querySql, usePostgres } from './engines.ts';
import { introspect, ordered } from './introspect.ts';
import { makeOldStore } from './old-store.ts';

usePostgres();

/** Migrations that existing stores have run. A published one never changes; a new one gets a new line. */
const PUBLISHED = [
  { version: 1, fingerprint: '00844be6832011bc' },
  { version: 2, fingerprint: '22dffdd27fd4a5ca' },
  { version: 3, fingerprint: '0cff2d3635e37227' },
  { version: 4, fingerprint: 'bf6fde4674fe6029' },
  { version: 5, fingerprint: 'e5896de5a2fb28f4' },
  { version: 6, fingerprint: '545363cf119a9d9d' },
  { version: 7, fingerprint: '760e78e1f89c684f' },
  { version: 8, fingerprint: 'a63b9fd6640b9d76' },
  { version: 9, fingerprint: 'b7228884ca4aed83' },
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

    test('a store of version 1 opens, and its logins work', async (t) => {
      const location = await emptyLocation(t, engine);
      await makeOldStore(location, 1);
      await querySql(location, "INSERT INTO login_users (id, doc) VALUES ('au_old', '{}')");
      const store = await openAt(location);
      assert.deepEqual(await introspect(location), ordered(currentSchema));
      assert.equal(await store.logins.getUser('au_old'), null);
      await feedLogin(store, 'as_1');
      assert.equal(await store.logins.currentSeq(), 1);
    });

    test('a store of version 3 opens with its deliveries, and continues them', async (t) => {
      const location = await emptyLocation(t, engine);
      await makeOldStore(location, 3);
      await querySql(location, "UPDATE counter SET value = 2 WHERE name = 'delivery_seq'");
      await querySql(location, "INSERT INTO events VALUES ('ev_1', 'x.v0', 1, 0, 5, '{}')");
      await querySql(
        location,
        `INSERT INTO event_deliveries VALUES ('evd_1', 1, 'esb_1', 'ed_1', 'ev_1', 'delivered', '[]', 0, 5, 6),
          ('evd_2', 2, 'esb_1', 'ed_1', 'ev_1', 'pending', '[]', 0, 7, 7)`,
      );
      await querySql(
        location,
        "INSERT INTO event_lanes VALUES ('esb_1', 'ed_1', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, '', 0)",
      );
      const store = await openAt(location);
      assert.deepEqual(await introspect(location), ordered(currentSchema));
      await store.commit({ puts: [destinationPut('ed_1'), subscriptionPut('esb_1', ['x.v0'], ['ed_1'])] });
      await store.commit({ events: [event('x.v0', 8)] });
      assert.deepEqual(await ledger(store), {
        'esb_1 ed_1': '3 = 2 pending + 1 delivered + 0 dead + 0 cancelled + 0 pruned',
      });
      const lane = await claimOne(store, 1_000);
      assert.deepEqual([lane.deliveries.length, lane.deliveries[0]?.id], [2, 'evd_2']);
      const retention = { nowMs: 9, endedBeforeMs: 7, deadBeforeMs: 7, pendingBeforeMs: 7 };
      assert.equal(await store.deliveries.prune(retention), 1);
      assert.equal((await store.deliveries.get('evd_2'))?.event.id, 'ev_1');
    });

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
