import { storeErrors } from '../../errors.ts';
import type { Program } from '../statements/statement.ts';
import { schemaVersion } from './migrate.ts';
import { currentSchema, migrations } from './migrations.ts';
import type { Dialect, Migration } from './schema.ts';

/** Whether servers that know the tables of version `found` can go on while these migrations run. */
export function isCompatible(found: number, list: readonly Migration[] = migrations): boolean {
  const pending = list.filter(({ version }) => version > found);
  return pending.every(({ compatibleFrom }) => compatibleFrom !== undefined && compatibleFrom <= found);
}

/** The server that hands over keeps working with the store until its last request is answered. */
export function* refuseIncompatible(dialect: Dialect): Program<void> {
  const found = yield* schemaVersion(dialect);
  if (found === 0 || isCompatible(found)) return;
  throw storeErrors.create(
    'ERR_POSTERN_STORE_OLD_NODES',
    `this version has to change the tables of the database (schema ${found} to ${currentSchema.version}) in a way that the running version cannot follow: stop it, then start this version`,
    { details: { schema_version: String(found), known_schema_version: String(currentSchema.version) } },
  );
}
