import { PosternError } from '../../lib/errors.ts';
import { storeErrors } from '../errors.ts';

const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_READONLY = 8;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
const SQLITE_NOTADB = 26;

/** SQLite itself turns ENOSPC of a write into SQLITE_FULL; a quota (EDQUOT) and the growth of the WAL index end in these. */
const SQLITE_IOERR_WRITE = 778;
const SQLITE_IOERR_SHMSIZE = 4874;

/** The store's error for what SQLite reports; anything that is not about the database as a whole comes back as it is. */
export function fromSqliteError(error: unknown): unknown {
  if (error instanceof PosternError) return error;
  const code = sqliteCode(error);
  if (code === null) return error;
  if (code === SQLITE_IOERR_WRITE || code === SQLITE_IOERR_SHMSIZE) return storeFull(error);
  switch (code & 0xff) {
    case SQLITE_FULL:
      return storeFull(error);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return storeErrors.create('ERR_POSTERN_STORE_CORRUPT', `the database is damaged: ${messageOf(error)}`, {
        cause: error,
      });
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_READONLY:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      return storeErrors.create('ERR_POSTERN_STORE_UNAVAILABLE', `the database failed: ${messageOf(error)}`, {
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

function storeFull(cause: unknown) {
  return storeErrors.create(
    'ERR_POSTERN_STORE_FULL',
    'the disk that holds the store is full, and nothing was applied: free space there and try again',
    { cause },
  );
}

function sqliteCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null;
  return typeof error.errcode === 'number' ? error.errcode : null;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
