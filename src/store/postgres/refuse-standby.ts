import type pg from 'pg';
import { storeErrors } from '../errors.ts';
import { type Program, queryOne } from '../sql/statements/statement.ts';

const IS_READ_ONLY =
  "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on' AS is_read_only";
export const STANDBY_PROBLEM = 'it is a standby, or default_transaction_read_only is on';

/** After a failover the address may still lead to the former primary, which can be read but not written. */
export function* refuseStandby(): Program<void> {
  const row = (yield* queryOne(IS_READ_ONLY)) as { readonly is_read_only?: unknown } | null;
  if (row?.is_read_only === true) throw readOnlyDatabase(STANDBY_PROBLEM);
}

/** The same for a new connection. */
export async function refuseStandbyClient(client: pg.ClientBase): Promise<void> {
  if (await isReadOnlyClient(client)) throw readOnlyDatabase(STANDBY_PROBLEM);
}

export async function isReadOnlyClient(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ readonly is_read_only: boolean }>(IS_READ_ONLY);
  return rows[0]?.is_read_only === true;
}

export function readOnlyDatabase(problem: string, cause?: unknown) {
  return storeErrors.create(
    'ERR_POSTERN_STORE_READ_ONLY',
    `the database is read-only: ${problem}. Nothing was applied: set POSTERN_DATABASE_URL to the primary, or promote this server`,
    { cause },
  );
}
