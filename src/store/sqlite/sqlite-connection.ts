import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { Program, Row, Statement } from '../sql/statements/statement.ts';
import { fromSqliteError } from './sqlite-error.ts';

export interface SqliteConnectionOptions {
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
