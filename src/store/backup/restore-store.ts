import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { createGunzip } from 'node:zlib';
import { failureCode, messageOf } from '../../kit/error-text.ts';
import { PosternError } from '../../kit/errors.ts';
import { makeDataDirectory } from '../data-directory.ts';
import { storeErrors } from '../errors.ts';
import { keyIdOf, keyLocation, readKeys, writeKeyFile } from '../keyring.ts';
import type { RunProgram, StoreLocation } from '../offline-database.ts';
import { migrate } from '../sql/schema/migrate.ts';
import type { Dialect, Table } from '../sql/schema/schema.ts';
import { type SqlValue, statement } from '../sql/statement.ts';
import {
  BACKUP_FORMAT,
  BACKUP_FORMAT_VERSION,
  type BackupHeader,
  type BackupTrailer,
  backedUpTables,
  backupSchema,
  insertTableRows,
  invalidBackup,
  unwrapKeys,
} from './backup-format.ts';
import { type FillFromBackup, replacePostgres, replaceSqlite } from './replace-store.ts';

interface RestoreOptions {
  readonly target: StoreLocation;
  readonly file: string;
  /** Requested only when the backup contains the secret key and the target does not have it. */
  readonly passphrase?: string | (() => Promise<string>);
  /** Also replaces a store that contains records. */
  readonly replace: boolean;
  readonly onProgress?: (progress: { readonly rowsDone: number; readonly rowsTotal: number }) => void;
}

interface RestoreResult {
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

interface VerifiedBackup {
  readonly header: BackupHeader;
  readonly trailer: BackupTrailer;
}

type OnRow = (table: Table, values: readonly SqlValue[]) => void | Promise<void>;

/**
 * Reads a backup from the first byte to the last, passes every row to `onRow`, and checks it against its trailer:
 * counts, hash, nothing missing, nothing after. Rows are passed before the check is complete: a caller that keeps them
 * reads the file once without `onRow` first.
 */
async function readBackup(file: string, onRow: OnRow = () => {}): Promise<VerifiedBackup> {
  const hash = createHash('sha256');
  const counts = new Map<string, number>();
  let header: BackupHeader | null = null;
  let trailer: BackupTrailer | null = null;
  let tables: ReadonlyMap<string, Table> = new Map();
  for await (const line of linesOf(file)) {
    if (trailer !== null) throw invalidBackup('the backup has data after its last line');
    const value = parseLine(line);
    if (header === null) {
      header = asHeader(value);
      tables = new Map(backedUpTables(backupSchema(header)).map((table) => [table.name, table]));
    } else if (Array.isArray(value)) {
      const { table, values } = asRow(value, tables);
      counts.set(table.name, (counts.get(table.name) ?? 0) + 1);
      await onRow(table, values);
    } else {
      trailer = asTrailer(value);
      continue;
    }
    hash.update(`${line}\n`);
  }
  if (header === null || trailer === null) throw invalidBackup('the backup is truncated: its last line is missing');
  if (trailer.sha256 !== hash.digest('hex')) throw invalidBackup('the backup is damaged: its checksum does not match');
  for (const name of tables.keys()) {
    if ((trailer.rows[name] ?? 0) !== (counts.get(name) ?? 0)) {
      throw invalidBackup(`the backup is damaged: rows of ${name} are missing`);
    }
  }
  return { header, trailer };
}

/** Not `readline`, which also splits at U+2028 and U+2029; JSON allows both in strings. */
async function* linesOf(file: string): AsyncGenerator<string> {
  const input = createReadStream(file);
  const text = input.pipe(createGunzip());
  // `pipe` does not forward errors.
  input.on('error', (error) => text.destroy(error));
  const decoder = new StringDecoder('utf8');
  let rest = '';
  let isBegun = false;
  try {
    for await (const chunk of text) {
      isBegun = true;
      const pieces = `${rest}${decoder.write(chunk as Buffer)}`.split('\n');
      rest = pieces.pop() ?? '';
      yield* pieces;
    }
  } catch (error) {
    if (error instanceof PosternError) throw error;
    throw invalidBackup(problemOf(error, isBegun), error);
  } finally {
    input.destroy();
  }
  if (rest !== '') throw invalidBackup('the backup is truncated in the middle of a line');
}

/** What zlib says of another file is "incorrect header check". */
function problemOf(error: unknown, isBegun: boolean): string {
  const code = failureCode(error);
  if (code === 'Z_BUF_ERROR') return 'the backup is truncated: its end is missing';
  if (code === 'Z_DATA_ERROR')
    return isBegun ? 'the backup is damaged' : 'the file is not a Postern backup, or is damaged';
  return `cannot read the whole backup: ${messageOf(error)}`;
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw invalidBackup('the backup is damaged: a line is not JSON', cause);
  }
}

function asHeader(value: unknown): BackupHeader {
  const header = value as BackupHeader | null;
  if (header?.format !== BACKUP_FORMAT) throw invalidBackup('the file is not a Postern backup');
  if (header.format_version !== BACKUP_FORMAT_VERSION) {
    throw invalidBackup(
      `the backup has format version ${header.format_version}, but this version of Postern reads only ${BACKUP_FORMAT_VERSION}`,
    );
  }
  return header;
}

function asRow(line: readonly unknown[], tables: ReadonlyMap<string, Table>) {
  const [name, ...values] = line;
  const table = tables.get(String(name));
  if (table === undefined) throw invalidBackup(`the backup has a row of an unknown table ${JSON.stringify(name)}`);
  const isSound =
    values.length === table.columns.length &&
    table.columns.every(({ type, isNullable }, at) => {
      const value = values[at];
      return value === null ? isNullable : typeof value === (type === 'text' ? 'string' : 'number');
    });
  if (!isSound) throw invalidBackup(`the backup has a row of ${table.name} that does not fit the table`);
  return { table, values: values as SqlValue[] };
}

function asTrailer(value: unknown): BackupTrailer {
  const trailer = value as BackupTrailer | null;
  if (typeof trailer?.sha256 !== 'string' || typeof trailer.rows !== 'object' || !Array.isArray(trailer.key_ids)) {
    throw invalidBackup('the backup is damaged: its last line is not a trailer');
  }
  return trailer;
}
