import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { PosternError } from '../../kit/errors.ts';
import { databasePath, makePrivateFile } from '../data-directory.ts';
import { storeErrors } from '../errors.ts';
import { syncDirectory } from '../keyring.ts';
import {
  createPostgresOfflineDatabase,
  createSqliteOfflineDatabase,
  type PostgresLocation,
  type RunProgram,
  type SqliteLocation,
  type StoreLocation,
} from '../offline-database.ts';
import { refuseWhileServersRun } from '../postgres/schema-locks.ts';
import { schemaVersion, tooNew } from '../sql/schema/migrate.ts';
import { currentSchema } from '../sql/schema/migrations.ts';
import type { Dialect } from '../sql/schema/schema.ts';
import { type Program, statement } from '../sql/statement.ts';
import { lockDirectory } from '../sqlite/directory-lock.ts';
import { forgetLastCommit } from '../sqlite/last-commit-file.ts';
import { SqliteConnection } from '../sqlite/sqlite-connection.ts';
import { holdsRecords } from './backup-format.ts';

/** Fills the database of an open transaction, which has no tables yet. */
export type FillFromBackup = (run: RunProgram, dialect: Dialect) => Promise<void>;

interface ReplaceOptions<Location extends StoreLocation> {
  readonly target: Location;
  /** Also replaces a store that contains records. */
  readonly replace: boolean;
  readonly fill: FillFromBackup;
  /** Called once, when the new store is ready and the next step makes it the store. */
  readonly beforeVisible: () => void;
}

function notEmpty(where: string) {
  return storeErrors.create(
    'ERR_POSTERN_RESTORE_NOT_EMPTY',
    `the store in ${where} already contains records: restore into an empty store, or use --replace`,
  );
}

/** Builds the new database in a file beside the old one and renames it into place: the old one stays until then. */
export async function replaceSqlite(options: ReplaceOptions<SqliteLocation>): Promise<void> {
  const { target, replace, fill, beforeVisible } = options;
  const lock = lockDirectory(target.dataDir);
  const path = databasePath(target.dataDir);
  const building = `${path}.restoring`;
  try {
    if (!replace && isHoldingRecords(path)) throw notEmpty(target.dataDir);
    removeDatabase(building);
    makePrivateFile(building);
    const connection = new SqliteConnection({ path: building, access: 'write' });
    const database = createSqliteOfflineDatabase(connection);
    try {
      await database.transaction('write', (run) => fill(run, 'sqlite'));
      foldLog(connection);
    } finally {
      await database.close();
    }
    syncFile(building);
    beforeVisible();
    putAwayLog(path);
    forgetLastCommit(target.dataDir);
    renameSync(building, path);
    syncDirectory(target.dataDir);
  } finally {
    removeDatabase(building);
    lock.release();
  }
}

function isHoldingRecords(path: string): boolean {
  if (!existsSync(path)) return false;
  const connection = new SqliteConnection({ path, access: 'write' });
  try {
    return connection.run(schemaVersion('sqlite')) > 0 && connection.run(holdsRecords(currentSchema));
  } finally {
    connection.close();
  }
}

/**
 * A log that outlives its database would be replayed into the new one. So the old database is checkpointed first; if it
 * is too damaged for that, which may be why it is being restored, the log is deleted.
 */
function putAwayLog(path: string): void {
  if (!existsSync(path)) return;
  try {
    const connection = new SqliteConnection({ path, access: 'write' });
    try {
      foldLog(connection);
    } finally {
      connection.close();
    }
  } catch (error) {
    if (!(error instanceof PosternError) || error.code !== 'ERR_POSTERN_STORE_CORRUPT') throw error;
  }
  for (const suffix of ['-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
}

function foldLog(connection: SqliteConnection): void {
  connection.exec('PRAGMA journal_mode = DELETE');
}

function syncFile(path: string): void {
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${path}${suffix}`, { force: true });
}

/** Drops, creates and fills the tables in one transaction: others see the old store or the new one. */
export async function replacePostgres(options: ReplaceOptions<PostgresLocation>): Promise<void> {
  const { target, replace, fill, beforeVisible } = options;
  const database = createPostgresOfflineDatabase(target.url);
  try {
    await database.transaction('write', async (run) => {
      await run(refuseWhileServersRun());
      const version = await run(schemaVersion('postgres'));
      // This version does not know all of its tables, and could not drop them.
      if (version > currentSchema.version) throw tooNew(version);
      if (version > 0) {
        if (!replace && (await run(holdsRecords(currentSchema)))) throw notEmpty('the database');
        await run(dropTables());
      }
      await fill(run, 'postgres');
      beforeVisible();
    });
  } finally {
    await database.close();
  }
}

function* dropTables(): Program<void> {
  for (const { name } of currentSchema.tables) yield statement(`DROP TABLE IF EXISTS ${name}`);
}
