import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeDataDirectory, makePrivateFile } from '../data-directory.ts';
import { storeErrors } from '../errors.ts';
import { fromSqliteError, isBusy } from './sqlite-error.ts';

export interface DirectoryLock {
  release(): void;
}

/**
 * Holds the data directory for the life of the process: an exclusive SQLite transaction on a separate file, which is an
 * operating system lock and so ends with the process in any case. Not on the database itself, which a backup must be
 * able to read.
 */
export function lockDirectory(dataDir: string): DirectoryLock {
  makeDataDirectory(dataDir);
  const lockPath = join(dataDir, 'postern.lock');
  const pidPath = join(dataDir, 'postern.pid');
  makePrivateFile(lockPath);
  const lock = new DatabaseSync(lockPath, { timeout: 0 });
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (isBusy(error)) throw inUse(dataDir, readPid(pidPath), error);
    throw fromSqliteError(error, lockPath);
  }
  try {
    writeFileSync(pidPath, `${process.pid}\n`, { mode: 0o600 });
  } catch {
    // Only improves the other process's message; a full disk must not keep the server from starting.
  }
  return { release: () => lock.close() };
}

function inUse(dataDir: string, pid: string | null, cause: unknown) {
  const holder = pid === null ? 'another process' : `process ${pid}`;
  return storeErrors.create(
    'ERR_POSTERN_STORE_IN_USE',
    `${holder} holds the data directory ${dataDir}: stop it, or choose another POSTERN_DATA_DIR`,
    { details: { data_dir: dataDir, ...(pid === null ? {} : { pid }) }, cause },
  );
}

function readPid(path: string): string | null {
  try {
    return /^\d+/.exec(readFileSync(path, 'utf8'))?.[0] ?? null;
  } catch {
    return null;
  }
}
