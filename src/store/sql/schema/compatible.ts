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

/** Versions of the servers that can go on beside the pending migrations, and beside this server. */
export function versionsBeside(found: number, list: readonly Migration[] = migrations): readonly number[] {
  const newest = list.at(-1)?.version ?? 0;
  const pending = list.filter(({ version }) => version > found);
  const oldest = Math.max(...pending.map(({ version, compatibleFrom = version }) => compatibleFrom));
  if (pending.length === 0 || !isCompatible(found, list)) return [newest];
  return Array.from({ length: newest - oldest + 1 }, (_, at) => oldest + at);
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
