import { join } from 'node:path';
import { after, before } from 'node:test';
import pg from 'pg';
import type { Clock } from '../../src/kit/clock.ts';
import type { StoreLocation } from '../../src/store/offline-database.ts';
import { type OpenPostgresStoreOptions, openPostgresStore } from '../../src/store/postgres/open-postgres-store.ts';
import { type OpenSqliteStoreOptions, openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import { SqliteConnection } from '../../src/store/sqlite/sqlite-connection.ts';
import type { Store } from '../../src/store/store.ts';
import type { Cleanup } from '../support/cleanup.ts';
import { freshDatabase, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { tempDir } from '../support/temp-dir.ts';
import type { OpenStore } from './conformance/store-under-test.ts';

export type EngineName = 'sqlite' | 'postgres';
export const ENGINES: readonly EngineName[] = ['sqlite', 'postgres'];

export type OpenStoreOptions = Partial<OpenSqliteStoreOptions & OpenPostgresStoreOptions>;

const openStores = new WeakMap<StoreLocation, Set<Store>>();
let server: PostgresServer | null = null;

/** Call once in a test file that uses PostgreSQL. */
export function usePostgres(): void {
  before(async () => {
    server = await startPostgres();
  });
  after(() => server?.stop());
}

/** A location for a test's own store; nothing is there yet. */
export async function emptyLocation(t: Cleanup, engine: EngineName): Promise<StoreLocation> {
  const stores = new Set<Store>();
  // Hooks run in order of registration: the stores close before their storage is removed.
  t.after(async () => {
    await Promise.all([...stores].map((store) => store.close()));
  });
  const location = await makeLocation(t, engine);
  openStores.set(location, stores);
  return location;
}

async function makeLocation(t: Cleanup, engine: EngineName): Promise<StoreLocation> {
  const dataDir = join(await tempDir(t), 'data');
  if (engine === 'sqlite') return { engine, dataDir };
  if (server === null) throw new Error('the test file does not call usePostgres()');
  const database = await freshDatabase(server);
  t.after(() => database.drop());
  return { engine, dataDir, url: database.url };
}

/** Not the system clock: so the times that tests pass also count on PostgreSQL. */
const TEST_CLOCK: Clock = { nowMs: () => Date.now() };

/** What opens a store, of this version or of another one. */
export interface StoreOpeners {
  readonly openSqliteStore: typeof openSqliteStore;
  readonly openPostgresStore: typeof openPostgresStore;
}

/** Closed at the end of the test that created the location, if not before. */
export async function openAt(
  location: StoreLocation,
  options: OpenStoreOptions = {},
  openers: StoreOpeners = { openSqliteStore, openPostgresStore },
): Promise<Store> {
  const all = { dataDir: location.dataDir, secretKey: location.secretKey ?? null, clock: TEST_CLOCK, ...options };
  const store =
    location.engine === 'sqlite'
      ? await openers.openSqliteStore(all)
      : await openers.openPostgresStore({ url: location.url, ...all });
  openStores.get(location)?.add(store);
  return store;
}

/** For the conformance suite: a test's own store, which may be closed and opened again. */
export function openerOf(engine: EngineName): OpenStore {
  return async (t, options) => {
    const location = await emptyLocation(t, engine);
    const store = await openAt(location, options);
    return {
      store,
      reopen: async () => {
        await store.close();
        return openAt(location, options);
      },
    };
  };
}

/** Directly in the database, past the store. */
export async function querySql(location: StoreLocation, sql: string): Promise<readonly Record<string, unknown>[]> {
  if (location.engine === 'sqlite') {
    const connection = new SqliteConnection({ path: join(location.dataDir, 'postern.sqlite'), access: 'write' });
    try {
      return connection.query({ sql, params: [] });
    } finally {
      connection.close();
    }
  }
  const client = new pg.Client({ connectionString: location.url });
  await client.connect();
  try {
    const { rows } = await client.query(sql);
    return rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}
