import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { createGunzip } from 'node:zlib';
import { failureCode, messageOf } from '../../lib/error-text.ts';
import { PosternError } from '../../lib/errors.ts';
import type { Table } from '../sql/schema/schema.ts';
import { backedUpTables } from '../sql/schema/table-rows.ts';
import type { SqlValue } from '../sql/statements/statement.ts';
import {
  BACKUP_FORMAT,
  BACKUP_FORMAT_VERSION,
  type BackupHeader,
  type BackupTrailer,
  backupSchema,
} from './backup-format.ts';
import { invalidBackup } from './invalid-backup.ts';

export interface VerifiedBackup {
  readonly header: BackupHeader;
  readonly trailer: BackupTrailer;
}

export type OnRow = (table: Table, values: readonly SqlValue[]) => void | Promise<void>;

/**
 * Reads a backup from the first byte to the last, passes every row to `onRow`, and checks it against its trailer:
 * counts, hash, nothing missing, nothing after. Rows are passed before the check is complete: a caller that keeps them
 * reads the file once without `onRow` first.
 */
export async function readBackup(file: string, onRow: OnRow = () => {}): Promise<VerifiedBackup> {
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
