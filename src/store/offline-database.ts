import { statSync } from 'node:fs';
import { failureCode, whyUnreadable } from '../kit/error-text.ts';
import { databasePath } from './data-directory.ts';
import { storeErrors } from './errors.ts';
import { CurrentServer, ServerSurvey } from './postgres/current-server.ts';
import { inTransaction, READ_VIEW } from './postgres/postgres-connection.ts';
import { TAKE_MIGRATION_LOCK } from './postgres/schema-locks.ts';
import { createPool } from './postgres/server-pool.ts';
import type { Dialect } from './sql/schema/schema.ts';
import type { Program } from './sql/statement.ts';
import { forgetLog, refuseLostFiles } from './sqlite/last-commit-file.ts';
import { fromSqliteError, SqliteConnection } from './sqlite/sqlite-connection.ts';

/** A database as the commands use it: programs in transactions, without a store around them. */
export interface OfflineDatabase {
  readonly dialect: Dialect;
  /** `read` sees one consistent view; `write` excludes all other writers until it is done. */
  transaction<Result>(mode: 'read' | 'write', use: (run: RunProgram) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

export type RunProgram = <Result>(program: Program<Result>) => Promise<Result>;

/** Location of a store, for commands that work on it from outside the server. */
export type StoreLocation = SqliteLocation | PostgresLocation;

export interface SqliteLocation extends KeyLocation {
  readonly engine: 'sqlite';
}

export interface PostgresLocation extends KeyLocation {
  readonly engine: 'postgres';
  readonly url: string;
}

interface KeyLocation {
  readonly dataDir: string;
  /** POSTERN_SECRET_KEY; without it the keys are in the data directory. */
  readonly secretKey?: string | null;
}

/** Opens an existing store. Reading works beside a running server. */
export function openOfflineDatabase(location: StoreLocation, access: 'read' | 'write'): OfflineDatabase {
  if (location.engine === 'postgres') return createPostgresOfflineDatabase(location.url);
  const path = existingDatabasePath(location.dataDir);
  const last = refuseLostFiles(location.dataDir);
  // A write may leave a log of its own, if it is killed.
  if (access === 'write' && last !== null) forgetLog(path, last);
  return createSqliteOfflineDatabase(new SqliteConnection({ path, access }));
}

/** A backup waits for a slow disk or an overloaded machine between two pages, and a restore for its file. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 300_000;

export function createPostgresOfflineDatabase(url: string): OfflineDatabase {
  const server = new CurrentServer(url);
  const survey = new ServerSurvey(server);
  const pool = createPool(server, 1, { idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS });
  return {
    dialect: 'postgres',
    transaction: async (mode, use) => {
      await survey.whenDue();
      return inTransaction(pool, mode === 'write' ? `BEGIN; ${TAKE_MIGRATION_LOCK}` : READ_VIEW, (connection) =>
        use((program) => connection.run(program)),
      );
    },
    close: () => pool.end(),
  };
}

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
function existingDatabasePath(dataDir: string): string {
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
