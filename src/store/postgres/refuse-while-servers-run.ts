import { storeErrors } from '../errors.ts';
import { type Program, queryOne } from '../sql/statements/statement.ts';
import { TRY_NO_SERVERS_LOCK } from './schema-names.ts';

/** Holds until the end of the transaction: a server that starts meanwhile waits for the migration lock. */
export function* refuseWhileServersRun(): Program<void> {
  const row = (yield* queryOne(TRY_NO_SERVERS_LOCK)) as { readonly locked?: unknown } | null;
  if (row?.locked === true) return;
  throw storeErrors.create(
    'ERR_POSTERN_STORE_IN_USE',
    'a Postern server is connected to the database: stop all servers first',
  );
}
