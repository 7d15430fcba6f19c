import { integer, type Program, queryOne } from './statement.ts';

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
