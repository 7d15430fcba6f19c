import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StoreLocation } from '../../src/store/offline-database.ts';
import type { Store, StoreState } from '../../src/store/store.ts';
import { committed, put } from './conformance/store-under-test.ts';
import { emptyLocation, openAt, querySql, usePostgres } from './engines.ts';

usePostgres();

const POLL_MS = 50;
const KILL_OTHERS =
  'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()';

test('a read-only database degrades the store until it accepts writes again', async (t) => {
  const { location, store, name } = await openStore(t);
  await querySql(location, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  await querySql(location, KILL_OTHERS);
  await untilHealth(store, 'degraded', 'ERR_POSTERN_STORE_READ_ONLY');
  await assert.rejects(store.commit({ puts: [put('edge', 'e2')] }), {
    code: 'ERR_POSTERN_STORE_READ_ONLY',
    message: /set POSTERN_DATABASE_URL to the primary/,
  });
  // Connections made in the meantime are replaced: after a failover they lead to the former primary.
  await querySql(besides(location), `ALTER DATABASE ${name} RESET ALL`);
  await untilHealth(store, 'ok', null);
  await committed(store, { puts: [put('edge', 'e2')] });
});

test('a dropped table fails the store', async (t) => {
  const { location, store } = await openStore(t);
  await querySql(location, 'ALTER TABLE commits RENAME TO elsewhere');
  await untilHealth(store, 'failed', 'ERR_POSTERN_STORE_GONE');
  assert.match(store.health().problem?.message ?? '', /"commits" does not exist.*search_path.*postern store restore/);
  await assert.rejects(store.commit({ puts: [put('edge', 'e2')] }), { code: 'ERR_POSTERN_STORE_GONE' });
  await querySql(location, 'ALTER TABLE elsewhere RENAME TO commits');
  await untilHealth(store, 'ok', null);
});

test('a dropped database fails the store', async (t) => {
  const { location, store, name } = await openStore(t);
  await querySql(besides(location), `DROP DATABASE ${name} WITH (FORCE)`);
  await untilHealth(store, 'failed', 'ERR_POSTERN_STORE_GONE');
  assert.match(store.health().problem?.message ?? '', new RegExp(`"${name}" does not exist`));
});

test('a user who may no longer log in degrades the store, and the message names the setting', async (t) => {
  const empty = (await emptyLocation(t, 'postgres')) as StoreLocation & { readonly engine: 'postgres' };
  const user = `user_${Date.now()}`;
  await querySql(empty, `CREATE ROLE ${user} LOGIN; GRANT ALL ON SCHEMA public TO ${user}`);
  t.after(() => querySql(empty, `DROP OWNED BY ${user}; DROP ROLE ${user}`).catch(() => {}));
  const url = new URL(empty.url);
  url.username = user;
  const store = await openAt({ ...empty, url: url.href }, { pollIntervalMs: POLL_MS });
  t.after(() => store.close());
  await querySql(empty, `ALTER ROLE ${user} NOLOGIN`);
  await querySql(empty, KILL_OTHERS);
  await untilHealth(store, 'degraded', 'ERR_POSTERN_STORE_UNAVAILABLE', /rejected the login.*POSTERN_DATABASE_URL/);
  await store.close();
});

async function openStore(t: Parameters<typeof emptyLocation>[0]) {
  const location = await emptyLocation(t, 'postgres');
  const store = await openAt(location, { pollIntervalMs: POLL_MS });
  await committed(store, { puts: [put('edge', 'e1')] });
  const [row] = await querySql(location, 'SELECT current_database() AS name');
  return { location, store, name: String(row?.['name']) };
}

function besides(location: StoreLocation): StoreLocation {
  if (location.engine !== 'postgres') return location;
  return { ...location, url: new URL('/postgres', location.url).href };
}

async function untilHealth(store: Store, state: StoreState, code: string | null, says = /^/): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += 20) {
    const { state: found, problem } = store.health();
    if (found === state && (problem?.code ?? null) === code && says.test(problem?.message ?? '')) return;
    assert.ok(waitedMs < 15_000, `the store is ${found}: ${problem?.message}`);
    await sleep(20);
  }
}
