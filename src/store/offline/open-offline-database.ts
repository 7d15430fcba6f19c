import { createPostgresOfflineDatabase } from '../postgres/postgres-offline-database.ts';
import { SqliteConnection } from '../sqlite/sqlite-connection.ts';
import { createSqliteOfflineDatabase, existingDatabasePath } from '../sqlite/sqlite-offline-database.ts';
import type { OfflineDatabase } from './offline-database.ts';
import type { StoreLocation } from './store-location.ts';

/** Opens an existing store. Reading works beside a running server. */
export function openOfflineDatabase(location: StoreLocation, access: 'read' | 'write'): OfflineDatabase {
  if (location.engine === 'postgres') return createPostgresOfflineDatabase(location.url);
  return createSqliteOfflineDatabase(new SqliteConnection({ path: existingDatabasePath(location.dataDir), access }));
}
