import { closeSync, openSync, readFileSync, readSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { databasePath, makePrivateFile } from '../data-directory.ts';
import { storeErrors } from '../errors.ts';
import type { CommitMark, StorePosition } from '../sql/commit-rows.ts';

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
function readLastCommit(dataDir: string): LastCommit | null {
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

function lastCommitPath(dataDir: string): string {
  return join(dataDir, 'last-commit');
}

/** Null: the log is empty. */
function saltIn(log: number): number | null {
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

/** Each reset of a log adds one to its salt, and `last-commit` is at most one behind. A foreign log has any 32 bits. */
const MAX_RESETS = 1_000;

/**
 * Before SQLite opens the files: it would make a new database of a missing or empty one, and replay the log of another
 * database into this one. Returns what the database must contain. `mark`: the last commit of the owner, which runs and
 * hands over.
 */
export function refuseLostFiles(dataDir: string, mark: CommitMark | null = null): LastCommit | null {
  const last = readLastCommit(dataDir);
  if (last === null && mark === null) return null;
  const path = databasePath(dataDir);
  const { size = null } = statSync(path, { throwIfNoEntry: false }) ?? {};
  if (size === null || size === 0) {
    throw storeErrors.create(
      'ERR_POSTERN_STORE_CORRUPT',
      `the database ${path} is ${size === null ? 'missing' : 'empty'}, but this data directory had ${had(last, mark)}. Put the file back with its log, or restore a backup (postern store restore FILE --replace). To begin with an empty store, delete ${lastCommitPath(dataDir)}`,
    );
  }
  // As long as its owner has it open, only somebody else removes it.
  if (mark !== null && statSync(`${path}-wal`, { throwIfNoEntry: false }) === undefined) {
    throw storeErrors.create(
      'ERR_POSTERN_STORE_CORRUPT',
      `the log ${path}-wal of the running server is missing. Stop the server, then put the log back or restore a backup (postern store restore FILE --replace)`,
    );
  }
  if (last !== null && last.logSalt !== null && isForeignLog(`${path}-wal`, last.logSalt)) {
    throw storeErrors.create(
      'ERR_POSTERN_STORE_CORRUPT',
      `the log ${path}-wal does not belong to ${path}: another file was put in its place. Nothing was changed. Put the right log back, or restore a backup (postern store restore FILE --replace). To use these files as they are, delete ${lastCommitPath(dataDir)}`,
    );
  }
  return last;
}

/** What is gone, for the log of the server. */
export function lossText(path: string, last: LastCommit, found: StorePosition): string {
  return `the database ${path} lost commits: this server has acknowledged ${described(last)}, and the database ends with ${described(found)}. Its log ${path}-wal was removed, shortened or replaced, or an older copy of the database was put in place. The lost changes are gone, among them deletions of keys and other revocations: repeat them, or stop the server and restore a backup that has them (postern store restore FILE --replace)`;
}

function had(last: LastCommit | null, mark: CommitMark | null): string {
  return last === null ? `commit ${mark?.number}` : described(last);
}

function described({ revision, commit }: StorePosition): string {
  return `revision ${revision} (commit ${commit.number})`;
}

function isForeignLog(path: string, salt: number): boolean {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return false;
  const log = openSync(path, 'r');
  try {
    const found = saltIn(log);
    // As unsigned 32-bit numbers.
    return found !== null && (found - salt) >>> 0 > MAX_RESETS;
  } finally {
    closeSync(log);
  }
}
