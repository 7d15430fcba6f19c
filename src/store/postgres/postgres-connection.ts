import type pg from 'pg';
import type { Program, Row, Statement } from '../sql/statements/statement.ts';
import { numberPlaceholders } from './number-placeholders.ts';
import { fromPostgresError, isLostConnection, isUnanswered } from './postgres-error.ts';
import { isReadOnly, type ServerPool } from './server-pool.ts';

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
  #failure: { readonly error: unknown } | null = null;

  constructor(client: pg.ClientBase) {
    this.#client = client;
  }

  async run<Result>(program: Program<Result>): Promise<Result> {
    let step = program.next([]);
    while (!step.done) {
      if (step.value.isBlind) this.#send(step.value);
      // A change of thousands of records must neither take the event loop nor be in memory twice.
      if (this.#blind.length >= MAX_BLIND) await this.#settled();
      step = program.next(step.value.isBlind ? [] : await this.query(step.value));
    }
    await this.#settled();
    if (this.#failure !== null) throw this.#failure.error;
    return step.value;
  }

  async #settled(): Promise<void> {
    await Promise.all(this.#blind);
    this.#blind = [];
  }

  async query(statement: Statement): Promise<Row[]> {
    try {
      return await this.#ask(statement);
    } catch (error) {
      // Their responses preceded it, but in the same packet, and are processed only now.
      await Promise.all(this.#blind);
      throw this.#failure?.error ?? fromPostgresError(error);
    }
  }

  #send(statement: Statement): void {
    const sent = this.#ask(statement).then(
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
}

/** Acquires a client, runs `use` in a transaction, and releases the client, or discards it when it is unusable. */
export async function inTransaction<Result>(
  pool: ServerPool,
  begin: string,
  use: (connection: PostgresConnection) => Promise<Result>,
  { isRolledBack = true }: TransactionOptions = {},
): Promise<Result> {
  const client = await pool.checkOut();
  const connection = new PostgresConnection(client);
  let isCommitSent = false;
  try {
    await connection.exec(begin);
    const result = await use(connection);
    isCommitSent = true;
    await connection.exec('COMMIT');
    client.release();
    return result;
  } catch (error) {
    if (!isCommitSent && isLostConnection(error)) lostBeforeCommit.add(error as object);
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
