import { createPostgresOfflineDatabase } from '../postgres/postgres-offline-database.ts';
import { forgetLog } from '../sqlite/last-commit-file.ts';
import { refuseLostFiles } from '../sqlite/lost-files.ts';
import { SqliteConnection } from '../sqlite/sqlite-connection.ts';
import { createSqliteOfflineDatabase, existingDatabasePath } from '../sqlite/sqlite-offline-database.ts';
import type { OfflineDatabase } from './offline-database.ts';
import type { StoreLocation } from './store-location.ts';

/** Opens an existing store. Reading works beside a running server. */
export function openOfflineDatabase(location: StoreLocation, access: 'read' | 'write'): OfflineDatabase {
  if (location.engine === 'postgres') return createPostgresOfflineDatabase(location.url);
  const path = existingDatabasePath(location.dataDir);
  const last = refuseLostFiles(location.dataDir);
  // It may leave a log of its own, if it is killed.
  if (access === 'write' && last !== null) forgetLog(path, last);
  return createSqliteOfflineDatabase(new SqliteConnection({ path, access }));
}
