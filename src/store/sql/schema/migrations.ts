import { firstTables } from './first-tables.ts';
import { identityTables } from './identity-tables.ts';
import { type Migration, schemaAfter } from './schema.ts';

/**
 * Append only, never edit: existing stores have run these. A test compares the published ones with their fingerprints.
 */
export const migrations: readonly Migration[] = [
  { version: 1, steps: firstTables },
  { version: 2, compatibleFrom: 1, steps: identityTables },
];

export const currentSchema = schemaAfter(migrations);
