import { statSync } from 'node:fs';
import { failureCode, whyUnreadable } from '../../lib/error-text.ts';
import { databasePath } from '../data-directory.ts';
import { storeErrors } from '../errors.ts';
import type { OfflineDatabase } from '../offline/offline-database.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import { fromSqliteError } from './sqlite-error.ts';

/** In the command's own thread, which has nothing else to do. */
export function createSqliteOfflineDatabase(connection: SqliteConnection): OfflineDatabase {
  return {
    dialect: 'sqlite',
    transaction: async (mode, use) => {
      connection.exec(mode === 'write' ? 'BEGIN IMMEDIATE' : 'BEGIN');
      try {
        const result = await use(async (program) => connection.run(program));
        connection.exec('COMMIT');
        return result;
      } catch (error) {
        connection.rollback();
        throw fromSqliteError(error, connection.path);
      }
    },
    close: async () => connection.close(),
  };
}

/** SQLite would create a missing file, and an empty backup would look like a real one. */
export function existingDatabasePath(dataDir: string): string {
  const path = databasePath(dataDir);
  try {
    statSync(path);
    return path;
  } catch (cause) {
    const isMissing = failureCode(cause) === 'ENOENT';
    const problem = isMissing
      ? `there is no store in ${dataDir}: ${path} does not exist. Name the data directory of the server with --data-dir`
      : `cannot read ${path}: ${whyUnreadable(cause)}`;
    throw storeErrors.create('ERR_POSTERN_STORE_UNAVAILABLE', problem, { cause });
  }
}
