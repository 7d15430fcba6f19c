import { makeDataDirectory } from '../data-directory.ts';
import { storeErrors } from '../errors.ts';
import { writeKeyFile } from '../key-file.ts';
import { keyIdOf } from '../keyring.ts';
import { keyLocation, readKeys } from '../load-keyring.ts';
import type { RunProgram } from '../offline/offline-database.ts';
import type { StoreLocation } from '../offline/store-location.ts';
import { migrate } from '../sql/schema/migrate.ts';
import type { Dialect, Table } from '../sql/schema/schema.ts';
import { insertTableRows } from '../sql/schema/table-rows.ts';
import { type SqlValue, statement } from '../sql/statements/statement.ts';
import { invalidBackup } from './invalid-backup.ts';
import { readBackup, type VerifiedBackup } from './read-backup.ts';
import type { FillFromBackup } from './replace-options.ts';
import { replacePostgres } from './replace-postgres.ts';
import { replaceSqlite } from './replace-sqlite.ts';
import { unwrapKeys } from './wrapped-keys.ts';

export interface RestoreOptions {
  readonly target: StoreLocation;
  readonly file: string;
  /** Requested only when the backup contains the secret key and the target does not have it. */
  readonly passphrase?: string | (() => Promise<string>);
  /** Also replaces a store that contains records. */
  readonly replace: boolean;
  readonly onProgress?: (progress: { readonly rowsDone: number; readonly rowsTotal: number }) => void;
}

export interface RestoreResult {
  readonly revision: number;
  readonly records: number;
  readonly rows: number;
  /** Secret keys that the restored store needs and that the target does not have yet. */
  readonly missingKeyIds: readonly string[];
}

const ROWS_PER_BATCH = 200;

/** All or nothing. The whole file is verified before the target is touched, and again while it is loaded. */
export async function restoreStore(options: RestoreOptions): Promise<RestoreResult> {
  const { target, file, replace } = options;
  const backup = await readBackup(file);
  const keysToWrite = await decideKeys(backup, options);
  makeDataDirectory(target.dataDir);
  const fill: FillFromBackup = (run, dialect) => fillFromBackup(run, dialect, backup, options);
  // Before the store is visible: a key without a store is harmless, a store without its key is not.
  const beforeVisible = () => {
    if (keysToWrite !== null) writeKeyFile(target.dataDir, keysToWrite);
  };
  if (target.engine === 'sqlite') await replaceSqlite({ target, replace, fill, beforeVisible });
  else await replacePostgres({ target, replace, fill, beforeVisible });
  const rows = totalOf(backup);
  const present = idsOf(keysOf(target) ?? []);
  return {
    revision: backup.header.revision,
    records: backup.trailer.rows['records'] ?? 0,
    rows,
    missingKeyIds: neededKeyIds(backup).filter((id) => !present.includes(id)),
  };
}

/** The keys to write into the data directory, or null. Rejects a target whose keys cannot open the backup's secrets. */
async function decideKeys(backup: VerifiedBackup, { target, passphrase }: RestoreOptions): Promise<Buffer[] | null> {
  const needed = neededKeyIds(backup);
  const present = keysOf(target);
  if (present !== null) {
    if (needed.every((id) => idsOf(present).includes(id))) return null;
    throw storeErrors.create(
      'ERR_POSTERN_SECRET_KEY',
      `the backup requires secret key ${needed.join(', ')}, but ${keyLocation(keySource(target))} has ${idsOf(present).join(', ')}: set the key of the backup, or remove this one`,
      { details: { wanted_key_id: needed.join(', '), given_key_id: idsOf(present).join(', ') } },
    );
  }
  if (backup.header.keys === null) return null;
  if (passphrase === undefined) throw invalidBackup('the backup contains the secret key: its passphrase is required');
  return unwrapKeys(backup.header.keys, typeof passphrase === 'string' ? passphrase : await passphrase());
}

async function fillFromBackup(
  run: RunProgram,
  dialect: Dialect,
  { header, trailer }: VerifiedBackup,
  { file, onProgress }: RestoreOptions,
): Promise<void> {
  await run(migrate({ dialect, upTo: header.schema_version }));
  // The backup also contains the rows that a migration inserts.
  await run(clear('meta'));
  await run(clear('counter'));
  const rowsTotal = totalOf({ trailer });
  let rowsDone = 0;
  let waiting: { readonly table: Table; readonly rows: SqlValue[][] } | null = null;
  async function flush(): Promise<void> {
    if (waiting === null) return;
    const { table, rows } = waiting;
    waiting = null;
    await run(insertTableRows(table, rows));
    rowsDone += rows.length;
    onProgress?.({ rowsDone, rowsTotal });
  }
  const again = await readBackup(file, async (table, values) => {
    if (waiting !== null && (waiting.table !== table || waiting.rows.length === ROWS_PER_BATCH)) await flush();
    waiting ??= { table, rows: [] };
    waiting.rows.push([...values]);
  });
  await flush();
  if (again.trailer.sha256 !== trailer.sha256) throw invalidBackup('the backup changed while it was being read');
  await run(migrate({ dialect }));
}

function* clear(table: string) {
  yield statement(`DELETE FROM ${table}`);
}

function neededKeyIds({ header, trailer }: VerifiedBackup): string[] {
  return [...new Set([header.key_id, ...trailer.key_ids])];
}

function keySource({ dataDir, secretKey = null }: StoreLocation) {
  return { dataDir, configured: secretKey };
}

function keysOf(target: StoreLocation): readonly Buffer[] | null {
  return readKeys(keySource(target));
}

function idsOf(keys: readonly Buffer[]): string[] {
  return keys.map(keyIdOf);
}

function totalOf({ trailer }: Pick<VerifiedBackup, 'trailer'>): number {
  return Object.values(trailer.rows).reduce((total, count) => total + count, 0);
}
