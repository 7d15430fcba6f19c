import type pg from 'pg';
import { storeErrors } from '../errors.ts';

/** PostgreSQL counts the promotions of a cluster: every standby that becomes a primary begins the next timeline. */
export interface Timeline {
  /** Copies of one database cluster have the same. */
  readonly cluster: string;
  readonly number: number;
}

/** A standby says what it has received. */
const TIMELINE = `SELECT (SELECT system_identifier::text FROM pg_control_system()) AS cluster,
  CASE WHEN pg_is_in_recovery() THEN (SELECT timeline_id FROM pg_control_checkpoint())
    ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int END AS number`;

/** Null: the server does not say, as some hosted ones. */
export async function readTimeline(client: pg.ClientBase): Promise<Timeline | null> {
  try {
    const { rows } = await client.query<Timeline>(TIMELINE);
    return rows[0] ?? null;
  } catch {
    return null;
  }
}

export function formerPrimary(timeline: Timeline, newest: Timeline) {
  return storeErrors.create(
    'ERR_POSTERN_STORE_UNAVAILABLE',
    `the database server is a former primary: it has timeline ${timeline.number}, and a standby was promoted to timeline ${newest.number}. Nothing was applied: start the new primary, and make this server its standby. If this is the server to use, stop the other one and restart Postern`,
  );
}
