import { createHash } from 'node:crypto';
import { createWriteStream, renameSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { storeErrors } from '../errors.ts';
import { createKeyring, keyLocation, readKeys, sealedKeyId, syncDirectory, verifyKeyCheck } from '../keyring.ts';
import { type OfflineDatabase, openOfflineDatabase, type RunProgram, type StoreLocation } from '../offline-database.ts';
import { readRevision } from '../sql/records/record-rows.ts';
import { readMeta, schemaVersion } from '../sql/schema/migrate.ts';
import type { Table } from '../sql/schema/schema.ts';
import type { SqlValue } from '../sql/statement.ts';
import {
  BACKUP_FORMAT,
  BACKUP_FORMAT_VERSION,
  type BackupHeader,
  type BackupTrailer,
  backedUpTables,
  backupSchema,
  primaryKeyOf,
  readTablePage,
  type WrappedKeys,
  wrapKeys,
} from './backup-format.ts';

export interface BackupOptions {
  readonly source: StoreLocation;
  readonly file: string;
  /** Includes the secret keys in the backup, sealed under the passphrase. */
  readonly withKey?: { readonly passphrase: string };
  readonly onProgress?: (progress: { readonly rowsDone: number }) => void;
}

export interface BackupResult {
  readonly revision: number;
  readonly records: number;
  readonly rows: number;
  /** The secret key that the backup needs. */
  readonly keyId: string;
  readonly isKeyIncluded: boolean;
}

const ROWS_PER_BATCH = 500;

/** Takes a backup in one consistent view, beside a running server. The file appears complete or not at all. */
export async function backupStore(options: BackupOptions): Promise<BackupResult> {
  const database = openOfflineDatabase(options.source, 'read');
  try {
    return await database.transaction('read', (run) => writeBackup(database, run, options));
  } finally {
    await database.close();
  }
}

async function writeBackup(database: OfflineDatabase, run: RunProgram, options: BackupOptions): Promise<BackupResult> {
  const { source, file, withKey, onProgress } = options;
  const header = await makeHeader(database, run, source, withKey?.passphrase ?? null);
  const rows: Record<string, number> = {};
  const temporary = `${file}.partial`;
  try {
    await pipeline(
      Readable.from(lines(header, run, rows, onProgress)),
      createGzip(),
      createWriteStream(temporary, { mode: 0o600, flush: true }),
    );
    renameSync(temporary, file);
    syncDirectory(dirname(resolve(file)));
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  return {
    revision: header.revision,
    records: rows['records'] ?? 0,
    rows: totalOf(rows),
    keyId: header.key_id,
    isKeyIncluded: header.keys !== null,
  };
}

async function makeHeader(
  { dialect }: OfflineDatabase,
  run: RunProgram,
  source: StoreLocation,
  passphrase: string | null,
): Promise<BackupHeader> {
  const version = await run(schemaVersion(dialect));
  const check = version === 0 ? null : await run(readMeta('key_check'));
  if (check === null) throw storeErrors.create('ERR_POSTERN_STORE_UNAVAILABLE', 'there is no store to back up');
  return {
    format: BACKUP_FORMAT,
    format_version: BACKUP_FORMAT_VERSION,
    schema_version: version,
    created_at: new Date().toISOString(),
    revision: await run(readRevision()),
    engine: dialect,
    key_id: sealedKeyId(check),
    keys: passphrase === null ? null : wrapSourceKeys(source, check, passphrase),
  };
}

function wrapSourceKeys({ dataDir, secretKey = null }: StoreLocation, check: string, passphrase: string): WrappedKeys {
  const keySource = { dataDir, configured: secretKey };
  const keys = readKeys(keySource);
  if (keys === null) {
    throw storeErrors.create(
      'ERR_POSTERN_SECRET_KEY',
      `cannot include the secret key in the backup: ${keyLocation(keySource)} does not exist`,
    );
  }
  // Otherwise a wrong key in the backup would be noticed only at a restore.
  verifyKeyCheck(check, createKeyring(keys), keySource);
  return wrapKeys(keys, passphrase);
}

async function* lines(
  header: BackupHeader,
  run: RunProgram,
  rows: Record<string, number>,
  onProgress: BackupOptions['onProgress'],
): AsyncGenerator<string> {
  const hash = createHash('sha256');
  const keyIds = new Set<string>();
  function hashed(text: string): string {
    hash.update(text);
    return text;
  }
  yield hashed(`${JSON.stringify(header)}\n`);
  for (const table of backedUpTables(backupSchema(header))) {
    rows[table.name] = 0;
    for await (const page of pages(table, run)) {
      for (const values of page) noteKeyId(table, values, keyIds);
      rows[table.name] = (rows[table.name] ?? 0) + page.length;
      yield hashed(page.map((values) => `${JSON.stringify([table.name, ...values])}\n`).join(''));
      onProgress?.({ rowsDone: totalOf(rows) });
    }
  }
  const trailer: BackupTrailer = { rows, key_ids: [...keyIds].sort(), sha256: hash.digest('hex') };
  yield `${JSON.stringify(trailer)}\n`;
}

async function* pages(table: Table, run: RunProgram): AsyncGenerator<SqlValue[][]> {
  let after: SqlValue[] | null = null;
  for (;;) {
    const page: SqlValue[][] = await run(readTablePage(table, after, ROWS_PER_BATCH));
    const last = page.at(-1);
    if (last === undefined) return;
    after = primaryKeyOf(table, last);
    yield page;
  }
}

const SEALED_COLUMNS: ReadonlySet<string> = new Set(['secrets', 'before_secrets', 'after_secrets']);

function noteKeyId(table: Table, values: readonly SqlValue[], keyIds: Set<string>): void {
  const isCheck = table.name === 'meta' && values[0] === 'key_check';
  for (const [at, { name }] of table.columns.entries()) {
    const isSealed = isCheck ? name === 'value' : table.name !== 'meta' && SEALED_COLUMNS.has(name);
    const sealed = isSealed ? values[at] : null;
    if (typeof sealed === 'string') keyIds.add(sealedKeyId(sealed));
  }
}

function totalOf(rows: Readonly<Record<string, number>>): number {
  return Object.values(rows).reduce((total, count) => total + count, 0);
}
