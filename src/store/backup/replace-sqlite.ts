import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { PosternError } from '../../lib/errors.ts';
import { databasePath, makePrivateFile } from '../data-directory.ts';
import { syncDirectory } from '../key-file.ts';
import type { SqliteLocation } from '../offline/store-location.ts';
import { schemaVersion } from '../sql/schema/migrate.ts';
import { currentSchema } from '../sql/schema/migrations.ts';
import { holdsRecords } from '../sql/schema/table-rows.ts';
import { lockDirectory } from '../sqlite/directory-lock.ts';
import { forgetLastCommit } from '../sqlite/last-commit-file.ts';
import { SqliteConnection } from '../sqlite/sqlite-connection.ts';
import { createSqliteOfflineDatabase } from '../sqlite/sqlite-offline-database.ts';
import { notEmpty, type ReplaceOptions } from './replace-options.ts';

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
