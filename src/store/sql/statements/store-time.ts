import { integer, type Program, queryOne } from './statement.ts';

/** A caller's clock, and whether the database's counts instead: several hosts share it, and theirs disagree. */
export interface CallerTime {
  readonly nowMs: number;
  readonly isDatabaseTime: boolean;
}

/** The time of a call: the caller's now, or the store's own clock. */
export type TimeAt = (nowMs?: number) => CallerTime;

/** PostgreSQL only: on SQLite there is one process, and its clock is as good. */
const DATABASE_NOW = 'SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint) AS now_ms';

/** How far the clock that counts is ahead of the caller's: added to what the caller gives, taken from what it gets. */
export function* clockShift({ nowMs, isDatabaseTime }: CallerTime): Program<number> {
  if (!isDatabaseTime) return 0;
  const row = yield* queryOne(DATABASE_NOW);
  return row === null ? 0 : integer(row, 'now_ms') - nowMs;
}
