import { tooNew } from '../sql/schema/migrate.ts';
import { migrations } from '../sql/schema/migrations.ts';
import { type Schema, schemaAfter } from '../sql/schema/schema.ts';
import type { SqlValue } from '../sql/statements/statement.ts';
import type { WrappedKeys } from './wrapped-keys.ts';

/**
 * A backup is gzip over lines of JSON: the header, an array for each row (`["records", value, …]`, values in the order of
 * the schema's columns), the trailer. It belongs to no engine: this is also how a store moves from one to the other.
 */
export const BACKUP_FORMAT = 'postern-backup';
export const BACKUP_FORMAT_VERSION = 1;

export interface BackupHeader {
  readonly format: typeof BACKUP_FORMAT;
  readonly format_version: number;
  readonly schema_version: number;
  readonly created_at: string;
  readonly revision: number;
  readonly engine: 'sqlite' | 'postgres';
  /** The secret key without which the secrets inside cannot be read. */
  readonly key_id: string;
  /** The keys themselves under a passphrase, or null. */
  readonly keys: WrappedKeys | null;
}

export interface BackupTrailer {
  readonly rows: Readonly<Record<string, number>>;
  /** Every key that something inside is sealed with; more than one while a rotation is under way. */
  readonly key_ids: readonly string[];
  /** Of everything before this line, hex. */
  readonly sha256: string;
}

export type RowLine = readonly [table: string, ...values: SqlValue[]];

/** The schema that the rows of a backup are in. */
export function backupSchema({ schema_version: version }: Pick<BackupHeader, 'schema_version'>): Schema {
  const known = schemaAfter(migrations);
  if (version > known.version) throw tooNew(version, known.version);
  return schemaAfter(migrations.filter((migration) => migration.version <= version));
}
