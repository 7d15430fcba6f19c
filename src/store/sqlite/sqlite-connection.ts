import { statSync, utimesSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { messageOf } from '../../kit/error-text.ts';
import { PosternError } from '../../kit/errors.ts';
import { storeErrors } from '../errors.ts';
import { type Program, type Row, type Statement, statement } from '../sql/statement.ts';
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
 * Linux makes a file system read-only when its disk fails, under open files. SQLite does not say why a write failed,
 * and access() does not know: only a change does, and this one needs no space.
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

interface SqliteConnectionOptions {
  readonly path: string;
  readonly access: 'write' | 'read';
  /** Simulates a full disk in tests. */
  readonly maxPages?: number | undefined;
}

/** Statements vary in their number of tuples, so there are more than one would expect. */
const MAX_CACHED_STATEMENTS = 256;
const BUSY_TIMEOUT_MS = 5_000;

/** One synchronous connection: it belongs to the thread that created it, which must be allowed to wait for the disk. */
export class SqliteConnection {
  readonly #path: string;
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor({ path, access, maxPages }: SqliteConnectionOptions) {
    this.#path = path;
    const location = access === 'read' ? existing(path) : path;
    this.#database = translated(path, () => new DatabaseSync(location, { timeout: BUSY_TIMEOUT_MS }));
    translated(path, () => {
      this.#database.exec('PRAGMA journal_mode = WAL');
      // FULL syncs the log at every commit; NORMAL would lose the last commits at a power loss.
      this.#database.exec('PRAGMA synchronous = FULL');
      this.#database.exec('PRAGMA journal_size_limit = 67108864');
      // Pages that every commit touches are written back once per this many pages, instead of SQLite's 1,000.
      this.#database.exec('PRAGMA wal_autocheckpoint = 4000');
      // Not opened read-only: the first reader of a WAL database may have to recover its log.
      if (access === 'read') this.#database.exec('PRAGMA query_only = 1');
      if (maxPages !== undefined) this.#database.exec(`PRAGMA max_page_count = ${Math.trunc(maxPages)}`);
    });
  }

  /** Runs the program in one transaction. Writers take the lock at the start, so that none has to abort midway. */
  transaction<Result>(mode: 'IMMEDIATE' | 'DEFERRED', work: () => Result): Result {
    return translated(this.#path, () => {
      this.exec(`BEGIN ${mode}`);
      try {
        const result = work();
        this.exec('COMMIT');
        return result;
      } catch (error) {
        this.rollback();
        throw error;
      }
    });
  }

  get path(): string {
    return this.#path;
  }

  run<Result>(program: Program<Result>): Result {
    let step = program.next([]);
    while (!step.done) step = program.next(this.query(step.value));
    return step.value;
  }

  query({ sql, params, isBlind, also = [] }: Statement): Row[] {
    return translated(this.#path, () => {
      if (!isBlind) return (this.#prepare(sql).all(...params) as Row[]).concat(...also.map((each) => this.query(each)));
      this.#prepare(sql).run(...params);
      return [];
    });
  }

  exec(sql: string): void {
    translated(this.#path, () => this.#database.exec(sql));
  }

  /** On a full disk SQLite rolls back by itself. */
  rollback(): void {
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
  }

  close(): void {
    this.#database.close();
  }

  #prepare(sql: string): StatementSync {
    const cached = this.#statements.get(sql);
    if (cached !== undefined) return cached;
    const [oldest] = this.#statements.keys();
    if (this.#statements.size >= MAX_CACHED_STATEMENTS && oldest !== undefined) this.#statements.delete(oldest);
    const prepared = this.#database.prepare(sql);
    this.#statements.set(sql, prepared);
    return prepared;
  }
}

/** A reader must not leave an empty database where somebody has moved the data directory away. */
function existing(path: string): URL {
  const url = pathToFileURL(path);
  url.searchParams.set('mode', 'rw');
  return url;
}

function translated<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw fromSqliteError(error, path);
  }
}

/** Larger files take too long. */
const MAX_CHECKED_BYTES = 16 * 1024 * 1024;

/** Throws if the structure of a page is damaged. SQLite has no checksums of content: a changed value goes unnoticed. */
export function checkPages(connection: SqliteConnection): void {
  if ((statSync(connection.path, { throwIfNoEntry: false })?.size ?? 0) > MAX_CHECKED_BYTES) return;
  const [row] = connection.transaction('DEFERRED', () => connection.query(statement('PRAGMA quick_check(1)')));
  const result = String(row?.['quick_check']);
  if (result !== 'ok') throw damaged(connection.path, result);
}
