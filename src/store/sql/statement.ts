import type { PageQuery } from '../stored-record.ts';

/** A value as both engines accept and return it. Integers beyond 2^53 never occur: only revisions and milliseconds. */
export type SqlValue = string | number | null;

export interface Statement {
  /** With `?` placeholders; the PostgreSQL engine numbers them. */
  readonly sql: string;
  readonly params: readonly SqlValue[];
  /** Nobody reads its rows: the next statement is sent to PostgreSQL before it has responded. */
  readonly isBlind?: true;
  /** Sent to PostgreSQL along with it: their rows follow its own. */
  readonly also?: readonly Statement[];
  /** Nothing follows it: PostgreSQL gets the COMMIT along with it. */
  readonly isLast?: true;
}

export type Row = Readonly<Record<string, SqlValue>>;

/**
 * Work inside one transaction, written once for both engines: it yields statements and is resumed with their rows.
 * SQLite's worker drives it synchronously, PostgreSQL's engine with a round trip for each statement that is not blind.
 */
export type Program<Result> = Generator<Statement, Result, readonly Row[]>;

/**
 * Far below the parameter limits of both engines (32,766 and 65,535), and enough for an efficient statement. A power of
 * two, like all insert sizes: so there are few distinct texts, and SQLite keeps them parsed.
 */
const ROWS_PER_STATEMENT = 128;

export function statement(sql: string, params: readonly SqlValue[] = []): Statement {
  return { sql, params };
}

/** A statement whose rows are ignored. */
export function* execute(sql: string, params: readonly SqlValue[] = []): Program<void> {
  yield { sql, params, isBlind: true };
}

export function* queryOne(sql: string, params: readonly SqlValue[] = []): Program<Row | null> {
  const rows = yield statement(sql, params);
  return rows[0] ?? null;
}

/** `INSERT` of many rows in few statements. `suffix` is an `ON CONFLICT` clause, if any. */
export function* insertRows(
  table: string,
  columns: readonly string[],
  rows: readonly (readonly SqlValue[])[],
  suffix = '',
): Program<void> {
  const tuple = `(${columns.map(() => '?').join(', ')})`;
  for (let at = 0, length = ROWS_PER_STATEMENT; at < rows.length; at += length) {
    while (length > rows.length - at) length /= 2;
    const tuples = `${`${tuple}, `.repeat(length - 1)}${tuple}`;
    const sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${tuples} ${suffix}`;
    yield { sql, params: rows.slice(at, at + length).flat(), isBlind: true };
  }
}

/** Runs `sql` for every chunk of `tuples`, with `%s` standing for the list of a row-value `IN (VALUES …)`. */
export function* queryForTuples(sql: string, tuples: readonly (readonly SqlValue[])[]): Program<Row[]> {
  const found: Row[] = [];
  for (const chunk of chunks(tuples)) for (const row of yield forTuples(sql, chunk)) found.push(row);
  return found;
}

/** The same, ignoring the rows. */
export function* executeForTuples(sql: string, tuples: readonly (readonly SqlValue[])[]): Program<void> {
  for (const chunk of chunks(tuples)) yield { ...forTuples(sql, chunk), isBlind: true };
}

function forTuples(sql: string, tuples: readonly (readonly SqlValue[])[]): Statement {
  return statement(
    sql.replace('%s', () => tupleList(tuples)),
    tuples.flat(),
  );
}

export function tupleList(tuples: readonly (readonly SqlValue[])[]): string {
  return tuples.map((tuple) => `(${tuple.map(() => '?').join(', ')})`).join(', ');
}

export function* chunks<T>(items: readonly T[]): Generator<readonly T[]> {
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

/**
 * A caller's clock, and whether the database's clock overrides it: several hosts share a database, and their clocks
 * disagree.
 */
export interface CallerTime {
  readonly nowMs: number;
  readonly isDatabaseTime: boolean;
}

/** The time of a call: the caller's now, or the store's own clock. */
export type TimeAt = (nowMs?: number) => CallerTime;

/** PostgreSQL only: SQLite has one process, whose clock is as good. */
const DATABASE_NOW_MS = 'CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)';
const DATABASE_NOW = `SELECT ${DATABASE_NOW_MS} AS now_ms`;

/**
 * How far the authoritative clock is ahead of the caller's: added to the caller's times, subtracted from returned ones.
 */
export function* clockShift({ nowMs, isDatabaseTime }: CallerTime): Program<number> {
  if (!isDatabaseTime) return 0;
  const row = yield* queryOne(DATABASE_NOW);
  return row === null ? 0 : integer(row, 'now_ms') - nowMs;
}

/** The authoritative time, before the statements that follow. */
export function* storeNowMs(time: CallerTime): Program<number> {
  return time.nowMs + (yield* clockShift(time));
}

/** The authoritative time as an SQL expression: evaluated after the statement has waited for a row's lock. */
export function nowExpression({ nowMs, isDatabaseTime }: CallerTime): string {
  return isDatabaseTime ? DATABASE_NOW_MS : `CAST(${Math.trunc(nowMs)} AS bigint)`;
}

export interface Condition {
  readonly sql: string;
  readonly param: SqlValue;
}

/** A page by descending id below `beforeId`: concurrent inserts and deletes neither repeat nor hide rows. */
export function pageStatement(
  select: string,
  conditions: readonly Condition[],
  { beforeId, limit }: PageQuery,
): Statement {
  const all = beforeId === null ? conditions : [...conditions, { sql: 'id < ?', param: beforeId }];
  return statement(`${select}${whereSql(all)} ORDER BY id DESC LIMIT ?`, [...all.map(({ param }) => param), limit]);
}

export function whereSql(conditions: readonly Condition[]): string {
  return conditions.length === 0 ? '' : ` WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}`;
}
