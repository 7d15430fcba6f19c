import { closeSync, openSync, readFileSync, readSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { makePrivateFile } from '../data-directory.ts';
import type { StorePosition } from '../sql/commits/commit-rows.ts';

/** The last commit that was acknowledged, and the log that it was written to. */
export interface LastCommit extends StorePosition {
  /** Null: the log was folded into the database, and any log may follow. */
  readonly logSalt: number | null;
}

const BYTES = 256;
/** The first salt in the header of a log: https://www.sqlite.org/fileformat2.html#the_write_ahead_log */
const SALT_AT = 16;
const SALT_BYTES = 4;

/**
 * The file `last-commit` beside the database says what the database must contain: SQLite takes a missing or shortened
 * log for a complete one, and an empty file for a new database. It is written after each commit, without an fsync: it
 * survives a killed process, and after a power loss it may be older than the database, never newer.
 */
export class LastCommitFile {
  readonly #databasePath: string;
  #file: number | null = null;
  #log: number | null = null;

  constructor(databasePath: string) {
    this.#databasePath = databasePath;
  }

  /** Never throws: the commit is durable, whatever a full disk does to this file. */
  write(position: StorePosition): void {
    try {
      this.#log ??= openSync(`${this.#databasePath}-wal`, 'r');
      this.#put(position, saltIn(this.#log));
    } catch {
      // An older content is true as well.
    }
  }

  /** For a database without a log, or one whose log is about to change. */
  writeFolded(position: StorePosition): void {
    try {
      this.#put(position, null);
    } catch {
      // As above.
    }
  }

  close(): void {
    for (const file of [this.#file, this.#log]) if (file !== null) closeSync(file);
    this.#file = null;
    this.#log = null;
  }

  #put({ commit, revision }: StorePosition, logSalt: number | null): void {
    if (this.#file === null) {
      const path = lastCommitPath(dirname(this.#databasePath));
      makePrivateFile(path);
      this.#file = openSync(path, 'r+');
    }
    const text = JSON.stringify({ commit, revision, logSalt } satisfies LastCommit);
    writeSync(this.#file, `${`${checksum(text)} ${text}`.padEnd(BYTES - 1)}\n`, 0);
  }
}

/** Null: there is none, or a power loss has torn it. */
export function readLastCommit(dataDir: string): LastCommit | null {
  const [, sum, text = ''] = /^([0-9a-f]{8}) (\{.*\}) *\n$/.exec(contentOf(lastCommitPath(dataDir))) ?? [];
  return sum === checksum(text) ? (JSON.parse(text) as LastCommit) : null;
}

/** The log may change without a commit: any one may follow. */
export function forgetLog(databasePath: string, position: StorePosition): void {
  const file = new LastCommitFile(databasePath);
  file.writeFolded(position);
  file.close();
}

/** Before the database is replaced as a whole. */
export function forgetLastCommit(dataDir: string): void {
  rmSync(lastCommitPath(dataDir), { force: true });
}

export function lastCommitPath(dataDir: string): string {
  return join(dataDir, 'last-commit');
}

/** Null: the log is empty. */
export function saltIn(log: number): number | null {
  const bytes = Buffer.alloc(SALT_BYTES);
  return readSync(log, bytes, 0, SALT_BYTES, SALT_AT) === SALT_BYTES ? bytes.readUInt32BE(0) : null;
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}
