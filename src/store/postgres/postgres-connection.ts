import type pg from 'pg';
import type { Program, Row, Statement } from '../sql/statement.ts';
import { numberPlaceholders } from './number-placeholders.ts';
import { fromPostgresError } from './postgres-error.ts';

/** A pool's client, seen as the store sees it. */
export class PostgresConnection {
  readonly #client: pg.ClientBase;

  constructor(client: pg.ClientBase) {
    this.#client = client;
  }

  async run<Result>(program: Program<Result>): Promise<Result> {
    let step = program.next([]);
    while (!step.done) step = program.next(await this.query(step.value));
    return step.value;
  }

  async query({ sql, params }: Statement): Promise<Row[]> {
    try {
      const { rows } = await this.#client.query<Row>(numberPlaceholders(sql), [...params]);
      return rows;
    } catch (error) {
      throw fromPostgresError(error);
    }
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

/** Gets a client, runs `use` in a transaction, and gives the client back, or away when it is of no more use. */
export async function inTransaction<Result>(
  pool: pg.Pool,
  begin: string,
  use: (connection: PostgresConnection) => Promise<Result>,
): Promise<Result> {
  const client = await connect(pool);
  const connection = new PostgresConnection(client);
  try {
    await connection.exec(begin);
    const result = await use(connection);
    await connection.exec('COMMIT');
    client.release();
    return result;
  } catch (error) {
    client.release(!(await rolledBack(connection)));
    throw error;
  }
}

async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw fromPostgresError(error);
  }
}

async function rolledBack(connection: PostgresConnection): Promise<boolean> {
  try {
    await connection.exec('ROLLBACK');
    return true;
  } catch {
    return false;
  }
}
