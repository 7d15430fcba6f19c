/** A value as both engines take and give it. Whole numbers beyond 2^53 never occur: revisions and milliseconds. */
export type SqlValue = string | number | null;

export interface Statement {
  /** With `?` placeholders; the PostgreSQL engine numbers them. */
  readonly sql: string;
  readonly params: readonly SqlValue[];
}

export type Row = Readonly<Record<string, SqlValue>>;

/**
 * Work inside one transaction, written once for both engines: it yields statements and is resumed with their rows.
 * SQLite's worker drives it synchronously, PostgreSQL's engine with a round trip for each statement.
 */
export type Program<Result> = Generator<Statement, Result, readonly Row[]>;

/** Far below the parameter limits of both engines (32,766 and 65,535), and enough for one statement to be worth its price. */
const ROWS_PER_STATEMENT = 200;

export function statement(sql: string, params: readonly SqlValue[] = []): Statement {
  return { sql, params };
}

export function* queryOne(sql: string, params: readonly SqlValue[] = []): Program<Row | null> {
  const rows = yield statement(sql, params);
  return rows[0] ?? null;
}

/** `INSERT` of many rows in few statements. `suffix` holds an `ON CONFLICT` clause, if any. */
export function* insertRows(
  table: string,
  columns: readonly string[],
  rows: readonly (readonly SqlValue[])[],
  suffix = '',
): Program<void> {
  const tuple = `(${columns.map(() => '?').join(', ')})`;
  for (const chunk of chunks(rows)) {
    const tuples = chunk.map(() => tuple).join(', ');
    yield statement(`INSERT INTO ${table} (${columns.join(', ')}) VALUES ${tuples} ${suffix}`, chunk.flat());
  }
}

/** Runs `sql` for every chunk of `tuples`, with `%s` standing for the list of a row-value `IN (VALUES …)`. */
export function* queryForTuples(sql: string, tuples: readonly (readonly SqlValue[])[]): Program<Row[]> {
  const found: Row[] = [];
  for (const chunk of chunks(tuples)) {
    const rows = yield statement(
      sql.replace('%s', () => tupleList(chunk)),
      chunk.flat(),
    );
    for (const row of rows) found.push(row);
  }
  return found;
}

export function tupleList(tuples: readonly (readonly SqlValue[])[]): string {
  return tuples.map((tuple) => `(${tuple.map(() => '?').join(', ')})`).join(', ');
}

function* chunks<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += ROWS_PER_STATEMENT) yield items.slice(at, at + ROWS_PER_STATEMENT);
}

export function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw new TypeError(`column ${column} is not text`);
  return value;
}

export function textOrNull(row: Row, column: string): string | null {
  return row[column] === null ? null : text(row, column);
}

export function integer(row: Row, column: string): number {
  const value = row[column];
  if (typeof value !== 'number') throw new TypeError(`column ${column} is not a number`);
  return value;
}

export function integerOrNull(row: Row, column: string): number | null {
  return row[column] === null ? null : integer(row, column);
}
