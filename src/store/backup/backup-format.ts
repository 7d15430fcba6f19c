import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto';
import { storeErrors } from '../errors.ts';
import { SECRET_KEY_BYTES } from '../keyring.ts';
import { tooNew } from '../sql/schema/migrate.ts';
import { migrations } from '../sql/schema/migrations.ts';
import { type Schema, schemaAfter, type Table } from '../sql/schema/schema.ts';
import { insertRows, type Program, queryOne, type Row, type SqlValue, statement } from '../sql/statement.ts';

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

/** The schema of the rows in a backup. */
export function backupSchema({ schema_version: version }: Pick<BackupHeader, 'schema_version'>): Schema {
  const known = schemaAfter(migrations);
  if (version > known.version) throw tooNew(version, known.version);
  return schemaAfter(migrations.filter((migration) => migration.version <= version));
}

/** The secret keys under a passphrase: AES-256-GCM with a key derived by scrypt. */
export interface WrappedKeys {
  readonly kdf: 'scrypt';
  readonly n: number;
  readonly r: number;
  readonly p: number;
  readonly salt: string;
  /** Nonce, ciphertext and tag, base64. */
  readonly sealed: string;
}

/** OWASP's first choice for scrypt: 128 MiB and a large part of a second per guess. */
const COST = { n: 2 ** 17, r: 8, p: 1 };
/** A foreign file must not make us use all memory. */
const MAX_MEMORY_BYTES = 512 * 1024 * 1024;
const CONTEXT = Buffer.from('postern-backup/keys');
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export function wrapKeys(keys: readonly Buffer[], passphrase: string): WrappedKeys {
  const salt = randomBytes(16);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', deriveKey(passphrase, salt, COST), nonce).setAAD(CONTEXT);
  const sealed = Buffer.concat([nonce, cipher.update(Buffer.concat(keys)), cipher.final(), cipher.getAuthTag()]);
  return { kdf: 'scrypt', ...COST, salt: salt.toString('base64'), sealed: sealed.toString('base64') };
}

export function unwrapKeys(wrapped: WrappedKeys, passphrase: string): Buffer[] {
  const sealed = Buffer.from(wrapped.sealed, 'base64');
  try {
    const key = deriveKey(passphrase, Buffer.from(wrapped.salt, 'base64'), wrapped);
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
      .setAAD(CONTEXT)
      .setAuthTag(sealed.subarray(-TAG_BYTES));
    const bytes = Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
    return Array.from({ length: bytes.length / SECRET_KEY_BYTES }, (_, at) =>
      bytes.subarray(at * SECRET_KEY_BYTES, (at + 1) * SECRET_KEY_BYTES),
    );
  } catch (cause) {
    throw invalidBackup('wrong passphrase: it does not decrypt the secret key in the backup', cause);
  }
}

function deriveKey(passphrase: string, salt: Buffer, { n, r, p }: typeof COST): Buffer {
  return scryptSync(passphrase, salt, 32, { N: n, r, p, maxmem: MAX_MEMORY_BYTES });
}

export function invalidBackup(problem: string, cause?: unknown) {
  return storeErrors.create('ERR_POSTERN_BACKUP_INVALID', `${problem}. Nothing was restored`, { cause });
}

/** Live state of processes that will not exist when a backup is restored, and the proof of an unchanged history. */
const NOT_BACKED_UP: ReadonlySet<string> = new Set([
  'leases',
  'commits',
  'nodes',
  'node_agreements',
  'node_claims',
  'node_sessions',
  // After a restore, people log in again: a code that was used since the backup must not be usable again.
  'identity_artifacts',
  'identity_logouts',
]);

export function backedUpTables({ tables }: Schema): readonly Table[] {
  return tables.filter(({ name }) => !NOT_BACKED_UP.has(name));
}

/** A page of a table in the order of its primary key, as lists of values in the order of its columns. */
export function* readTablePage(table: Table, after: readonly SqlValue[] | null, limit: number): Program<SqlValue[][]> {
  const columns = table.columns.map(({ name }) => name);
  const key = table.primaryKey.join(', ');
  const where = after === null ? '' : `WHERE (${key}) > (${table.primaryKey.map(() => '?').join(', ')})`;
  const rows = yield statement(`SELECT ${columns.join(', ')} FROM ${table.name} ${where} ORDER BY ${key} LIMIT ?`, [
    ...(after ?? []),
    limit,
  ]);
  return rows.map((row) => valuesOf(row, columns));
}

export function primaryKeyOf(table: Table, values: readonly SqlValue[]): SqlValue[] {
  return table.primaryKey.map((name) => values[table.columns.findIndex((column) => column.name === name)] ?? null);
}

export function* insertTableRows(table: Table, rows: readonly (readonly SqlValue[])[]): Program<void> {
  yield* insertRows(
    table.name,
    table.columns.map(({ name }) => name),
    rows,
  );
}

/** Whether the store contains data. A store that was only opened has just its counters and its key check. */
export function* holdsRecords({ tables }: Schema): Program<boolean> {
  for (const { name } of tables) {
    if (name === 'meta' || name === 'counter' || NOT_BACKED_UP.has(name)) continue;
    if ((yield* queryOne(`SELECT 1 AS one FROM ${name} LIMIT 1`)) !== null) return true;
  }
  return false;
}

function valuesOf(row: Row, columns: readonly string[]): SqlValue[] {
  return columns.map((column) => row[column] ?? null);
}
