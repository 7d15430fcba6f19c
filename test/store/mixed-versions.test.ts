import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import type { PostgresLocation, StoreLocation } from '../../src/store/offline/store-location.ts';
import { TAKE_VERSION_LOCK, TRY_SERVER_LOCK } from '../../src/store/postgres/schema-names.ts';
import { versionsBeside } from '../../src/store/sql/schema/compatible.ts';
import { currentSchema } from '../../src/store/sql/schema/migrations.ts';
import { committed, everything, put } from './conformance/store-under-test.ts';
import { ENGINES, emptyLocation, openAt, querySql, usePostgres } from './engines.ts';
import { makeOldStore } from './old-store.ts';

usePostgres();

test('refuses to start with a pending migration while servers of an older version are connected', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  await makeOldStore(location, 4);
  const old = await connectOldServer(t, location);
  await assert.rejects(openAt(location), {
    code: 'ERR_POSTERN_STORE_OLD_NODES',
    message: new RegExp(
      `schema 4 to ${currentSchema.version}.*1 server of an older version is still connected.*stop them`,
    ),
  });
  assert.equal(await versionOf(location), '4', 'nothing was changed');
  await old.end();
  const store = await openAt(location);
  await committed(store, { puts: [put('edge', 'e1')] });
});

test('migrates beside servers of the previous version when the migration only adds to the tables', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  const { version } = currentSchema;
  await makeOldStore(location, version - 1);
  const old = await connectOldServer(t, location);
  await old.query(TAKE_VERSION_LOCK, [`/${version - 1}`]);
  assert.deepEqual(versionsBeside(version - 1).slice(-2), [version - 1, version], 'what this test is about');
  // Both hold the lock of the new version while one of them migrates.
  const stores = await Promise.all([openAt(location), openAt(location)]);
  for (const store of stores) await committed(store, { puts: [put('edge', 'e1')] });
  assert.equal(await versionOf(location), String(version));
});

test('migrates under older servers on request', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  await makeOldStore(location, 4);
  const old = await connectOldServer(t, location);
  const store = await openAt(location, { mayMigrateUnderOldNodes: true });
  await committed(store, { puts: [put('edge', 'e1')] });
  await old.end();
});

test('servers of a new version that start together migrate once', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  await makeOldStore(location, 4);
  const stores = await Promise.all(Array.from({ length: 3 }, () => openAt(location)));
  assert.equal(new Set(stores.map(({ accountId }) => accountId)).size, 1);
  assert.equal(await versionOf(location), String(currentSchema.version));
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

/** Servers from before this check hold only the lock of servers. */
async function connectOldServer(t: TestContext, location: StoreLocation): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: (location as PostgresLocation).url });
  client.on('error', () => {});
  await client.connect();
  t.after(() => client.end().catch(() => {}));
  await client.query(TRY_SERVER_LOCK);
  return client;
}

async function versionOf(location: StoreLocation): Promise<unknown> {
  const [row] = await querySql(location, "SELECT value FROM meta WHERE name = 'schema_version'");
  return row?.['value'];
}
