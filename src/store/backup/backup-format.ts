import { tooNew } from '../sql/schema/migrate.ts';
import { migrations } from '../sql/schema/migrations.ts';
import { type Schema, schemaAfter } from '../sql/schema/schema.ts';
import type { SqlValue } from '../sql/statements/statement.ts';
import type { WrappedKeys } from './wrapped-keys.ts';

/**
 * A backup is gzip over lines of JSON: the header, an array per row (`["records", value, …]`, values in the order of
 * the schema's columns), the trailer. It is independent of the engine, so it also moves a store from one engine to the
 * other.
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
  /** Id of the secret key needed to read the secrets inside. */
  readonly key_id: string;
  /** The keys themselves, sealed under a passphrase, or null. */
  readonly keys: WrappedKeys | null;
}

export interface BackupTrailer {
  readonly rows: Readonly<Record<string, number>>;
  /** Ids of every key that seals something inside; more than one during a rotation. */
  readonly key_ids: readonly string[];
  /** SHA-256 of everything before this line, in hex. */
  readonly sha256: string;
}

export type RowLine = readonly [table: string, ...values: SqlValue[]];

/** The schema of the rows in a backup. */
export function backupSchema({ schema_version: version }: Pick<BackupHeader, 'schema_version'>): Schema {
  const known = schemaAfter(migrations);
  if (version > known.version) throw tooNew(version, known.version);
  return schemaAfter(migrations.filter((migration) => migration.version <= version));
}
