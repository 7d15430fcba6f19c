import type pg from 'pg';
import type { Program, Row, Statement } from '../sql/statement.ts';
import { fromPostgresError, isEndedIdle, isLostConnection, isUnanswered } from './postgres-error.ts';
import { isReadOnly, type ServerPool } from './server-pool.ts';

const numbered = new Map<string, string>();
const MAX_CACHED_TEXTS = 1_000;

/** `?` → `$1`, `$2`, …; the store's SQL contains no other question mark. */
function numberPlaceholders(sql: string): string {
  const known = numbered.get(sql);
  if (known !== undefined) return known;
  let count = 0;
  const result = sql.replaceAll('?', () => {
    count += 1;
    return `$${count}`;
  });
  if (numbered.size < MAX_CACHED_TEXTS) numbered.set(sql, result);
  return result;
}

/** Statements whose responses nobody has waited for. Each may insert 128 rows. */
const MAX_BLIND = 16;

/**
 * A pool's client with the interface of the store. It pipelines: blind statements are sent without waiting, and the
 * database responds in order. Once one has failed, all that follow in its transaction fail because of it: the first
 * error is the one to report.
 */
export class PostgresConnection {
  readonly #client: pg.ClientBase;
  #blind: Promise<void>[] = [];
  #committed: Promise<void> | null = null;
  #failure: { readonly error: unknown } | null = null;

  constructor(client: pg.ClientBase) {
    this.#client = client;
  }

  async run<Result>(program: Program<Result>): Promise<Result> {
    let step = program.next([]);
    while (!step.done) {
      if (step.value.isBlind) this.#sendBlind(step.value);
      // A change of thousands of records must neither take the event loop nor be in memory twice.
      if (this.#blind.length >= MAX_BLIND) await this.settled();
      step = program.next(step.value.isBlind ? [] : await this.#answered(step.value));
    }
    return step.value;
  }

  /** COMMIT may have been carried out. */
  get isCommitSent(): boolean {
    return this.#committed !== null;
  }

  async #answered(statement: Statement): Promise<Row[]> {
    const { also = [], isLast = false } = statement;
    const asked = [statement, ...also].map((each) => this.query(each));
    if (isLast) void this.#sendCommit();
    return asked.length === 1 ? (asked[0] as Promise<Row[]>) : (await Promise.all(asked)).flat();
  }

  /** Sent without waiting for its response. */
  begin(sql: string): void {
    this.#send(() => this.#client.query(sql));
  }

  /** Sent along with the last statements: if one of them has failed, the database rolls back instead. */
  async commit(): Promise<void> {
    const committed = this.#committed ?? this.#sendCommit();
    await this.settled();
    await committed;
  }

  #sendCommit(): Promise<void> {
    const committed = this.exec('COMMIT');
    committed.catch(() => {});
    this.#committed = committed;
    return committed;
  }

  /** Rejects with the first failure of a statement that nobody has waited for. */
  async settled(): Promise<void> {
    await Promise.all(this.#blind);
    this.#blind = [];
    if (this.#failure !== null) throw this.#failure.error;
  }

  async query(statement: Statement): Promise<Row[]> {
    try {
      return await this.#ask(statement);
    } catch (error) {
      // Responses to blind statements preceded the error, but in the same packet, and are processed only now.
      await Promise.all(this.#blind);
      throw this.#failure?.error ?? fromPostgresError(error);
    }
  }

  #sendBlind(statement: Statement): void {
    this.#send(() => this.#ask(statement));
  }

  #send(query: () => Promise<unknown>): void {
    const sent = query().then(
      () => {},
      (error: unknown) => {
        this.#failure ??= { error: fromPostgresError(error) };
      },
    );
    this.#blind.push(sent);
  }

  async #ask({ sql, params }: Statement): Promise<Row[]> {
    const { rows } = await this.#client.query<Row>(numberPlaceholders(sql), [...params]);
    return rows;
  }

  /** Without parameters several statements go in one round trip. */
  async exec(sql: string): Promise<void> {
    try {
      await this.#client.query(sql);
    } catch (error) {
      throw fromPostgresError(error);
    }
  }
}

interface TransactionOptions {
  /** False: an error closes the connection at once. A server that does not respond would not roll back either. */
  readonly isRolledBack?: boolean;
  /**
   * Nothing was written: the caller does not wait for the end of the transaction. The next one on the connection does.
   */
  readonly isReading?: boolean;
}

export const READ_VIEW = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';

/** Acquires a client, runs `use` in a transaction, and releases the client, or discards it when it is unusable. */
export async function inTransaction<Result>(
  pool: ServerPool,
  begin: string,
  use: (connection: PostgresConnection) => Promise<Result>,
  { isRolledBack = true, isReading = begin === READ_VIEW }: TransactionOptions = {},
): Promise<Result> {
  const client = await pool.checkOut();
  const connection = new PostgresConnection(client);
  try {
    connection.begin(begin);
    const result = await use(connection);
    const committed = connection.commit();
    if (isReading) committed.catch(() => {});
    else await committed;
    client.release();
    return result;
  } catch (error) {
    if ((!connection.isCommitSent && isLostConnection(error)) || isEndedIdle(error))
      lostBeforeCommit.add(error as object);
    // A connection to a standby stays one; a new one may reach the primary. A server that did not respond in time would
    // not respond to ROLLBACK either.
    if (isReadOnly(error) || (isRolledBack && isUnanswered(error))) pool.discard(client);
    else client.release(!(isRolledBack && (await rolledBack(connection))));
    throw error;
  }
}

const lostBeforeCommit = new WeakSet<object>();

/** The connection was lost before COMMIT was sent: nothing was applied, and the work may be repeated. */
export function isLostBeforeCommit(error: unknown): boolean {
  return typeof error === 'object' && error !== null && lostBeforeCommit.has(error);
}

async function rolledBack(connection: PostgresConnection): Promise<boolean> {
  try {
    await connection.exec('ROLLBACK');
    return true;
  } catch {
    return false;
  }
}
