import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoreLocation } from '../../src/store/offline-database.ts';
import { currentSchema } from '../../src/store/sql/schema/migrations.ts';
import { committed, everything, put } from './conformance/store-under-test.ts';
import { ENGINES, emptyLocation, openAt, querySql, usePostgres } from './engines.ts';
import { nextStore } from './next-store.ts';

usePostgres();

const additive = await nextStore('additive');
const breaking = await nextStore('breaking');

test('refuses to start with a pending migration while servers of an older version are connected', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  const old = await openAt(location);
  const { version } = currentSchema;
  await assert.rejects(breaking.openAt(location), {
    code: 'ERR_POSTERN_STORE_OLD_NODES',
    message: new RegExp(
      `schema ${version} to ${version + 1}.*1 server of an older version is still connected.*stop them`,
    ),
  });
  assert.equal(await versionOf(location), String(version), 'nothing was changed');
  await old.close();
  const store = await breaking.openAt(location);
  await committed(store, { puts: [put('edge', 'e1')] });
});

test('migrates beside servers of the previous version when the migration only adds to the tables', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  const old = await openAt(location);
  // Both hold the lock of the new version while one of them migrates.
  const stores = await Promise.all([additive.openAt(location), additive.openAt(location)]);
  for (const store of [...stores, old]) await committed(store, { puts: [put('edge', 'e1')] });
  assert.equal(await versionOf(location), String(additive.schema.version));
});

test('migrates under older servers on request, which then refuse to write', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  const old = await openAt(location);
  const store = await breaking.openAt(location, { mayMigrateUnderOldNodes: true });
  await committed(store, { puts: [put('edge', 'e1')] });
  await assert.rejects(old.commit({ puts: [put('edge', 'e2')] }), { code: 'ERR_POSTERN_STORE_TOO_NEW' });
});

test('servers of a new version that start together migrate once', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  await (await openAt(location)).close();
  const stores = await Promise.all(Array.from({ length: 3 }, () => breaking.openAt(location)));
  assert.equal(new Set(stores.map(({ accountId }) => accountId)).size, 1);
  assert.equal(await versionOf(location), String(breaking.schema.version));
});

for (const engine of ENGINES) {
  test(`${engine}: a server whose store was migrated by a newer version refuses to write, and reports it`, async (t) => {
    const location = await emptyLocation(t, engine);
    const store = await openAt(location, { pollIntervalMs: 50, probeIntervalMs: 50 });
    await committed(store, { puts: [put('edge', 'e1')] });
    await querySql(location, "UPDATE meta SET value = '99' WHERE name = 'schema_version'");
    await assert.rejects(store.commit({ puts: [put('edge', 'e2')] }), {
      code: 'ERR_POSTERN_STORE_TOO_NEW',
      message: /schema version 99/,
    });
    assert.equal(store.health().problem?.code, 'ERR_POSTERN_STORE_TOO_NEW');
    assert.deepEqual(
      (await everything(store)).records.map(({ id }) => id),
      ['e1'],
    );
  });
}

async function versionOf(location: StoreLocation): Promise<unknown> {
  const [row] = await querySql(location, "SELECT value FROM meta WHERE name = 'schema_version'");
  return row?.['value'];
}
