import type { StoreLocation } from '../../src/store/offline-database.ts';
import type { Store } from '../../src/store/store.ts';
import { type NextVersion, nextVersion } from '../support/next-version.ts';
import { type OpenStoreOptions, openAt, type StoreOpeners } from './engines.ts';

export interface NextStore extends Pick<NextVersion, 'migrations' | 'schema'> {
  openAt(location: StoreLocation, options?: OpenStoreOptions): Promise<Store>;
  readonly restoreStore: typeof import('../../src/store/backup/restore-store.ts').restoreStore;
}

/** The store's code of a made-up next version. */
export async function nextStore(kind: Parameters<typeof nextVersion>[0]): Promise<NextStore> {
  const { load, migrations, schema } = await nextVersion(kind);
  const openers: StoreOpeners = {
    ...(await load<Pick<StoreOpeners, 'openSqliteStore'>>('src/store/sqlite/open-sqlite-store.ts')),
    ...(await load<Pick<StoreOpeners, 'openPostgresStore'>>('src/store/postgres/open-postgres-store.ts')),
  };
  const { restoreStore } = await load<Pick<NextStore, 'restoreStore'>>('src/store/backup/restore-store.ts');
  return { migrations, schema, restoreStore, openAt: (location, options) => openAt(location, options, openers) };
}
