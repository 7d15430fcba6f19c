import { utimesSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf } from '../../lib/error-text.ts';
import { PosternError } from '../../lib/errors.ts';
import { storeErrors } from '../errors.ts';
import { damaged } from './database-files.ts';

const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_READONLY = 8;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
const SQLITE_NOTADB = 26;

/** SQLite itself maps ENOSPC of a write to SQLITE_FULL; a quota (EDQUOT) and growth of the WAL index end in these. */
const SQLITE_IOERR_WRITE = 778;
const SQLITE_IOERR_SHMSIZE = 4874;

/**
 * The store's error for an SQLite error; an error that does not concern the database as a whole is returned unchanged.
 */
export function fromSqliteError(error: unknown, path: string): unknown {
  if (error instanceof PosternError) return error;
  const code = sqliteCode(error);
  if (code === null) return error;
  if ((code & 0xff) === SQLITE_IOERR && isOnReadOnlyDisk(path)) return readOnly(path, error);
  if (code === SQLITE_IOERR_WRITE || code === SQLITE_IOERR_SHMSIZE) return storeFull(path, error);
  switch (code & 0xff) {
    case SQLITE_FULL:
      return storeFull(path, error);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return damaged(path, messageOf(error), error);
    case SQLITE_READONLY:
      return readOnly(path, error);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      return storeErrors.create('ERR_POSTERN_STORE_UNAVAILABLE', `the database ${path} failed: ${messageOf(error)}`, {
        cause: error,
      });
    default:
      return error;
  }
}

export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== null && (code & 0xff) === SQLITE_BUSY;
}

/**
 * Linux makes a file system read-only when its disk fails, under open files. SQLite does not say why a write failed, and
 * access() does not know: only a change does, and this one needs no space.
 */
function isOnReadOnlyDisk(path: string): boolean {
  const now = new Date();
  try {
    utimesSync(dirname(path), now, now);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS';
  }
}

function readOnly(path: string, cause: unknown): PosternError {
  return storeErrors.create(
    'ERR_POSTERN_STORE_READ_ONLY',
    `the database ${path} is not writable (${messageOf(cause)}). Nothing was applied: mount its disk read-write, and give this user write access to the file and its directory`,
    { cause },
  );
}

export function storeFull(path: string, cause?: unknown): PosternError {
  return storeErrors.create(
    'ERR_POSTERN_STORE_FULL',
    `the disk of ${path} is full. Nothing was applied: free space there and try again`,
    cause === undefined ? {} : { cause },
  );
}

function sqliteCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null;
  return typeof error.errcode === 'number' ? error.errcode : null;
}
