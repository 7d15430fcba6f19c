import { firstTables } from './first-tables.ts';
import { type Migration, schemaAfter } from './schema.ts';

/**
 * Append only, never edit: existing stores have run these. A test compares the published ones with their fingerprints.
 */
export const migrations: readonly Migration[] = [{ version: 1, steps: firstTables }];

export const currentSchema = schemaAfter(migrations);
