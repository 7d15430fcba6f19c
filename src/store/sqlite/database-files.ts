import { randomFillSync } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { failureCode, messageOf } from '../../kit/error-text.ts';
import { PosternError } from '../../kit/errors.ts';
import { storeErrors } from '../errors.ts';

const HEADER_BYTES = 100;
const MAGIC = 'SQLite format 3\0';

/**
 * The files that a connection has open. SQLite continues with files that were deleted or replaced under it: it
 * acknowledges commits that nobody will ever read again. So their names are compared with the open files around every
 * commit.
 */
export class DatabaseFiles {
  readonly #path: string;
  readonly #headerFile: number;
  #identities: ReadonlyMap<string, string> | null = null;
  #largestBytes = 0;

  /**
   * `headerFile`: the open database file. It stays open as long as any connection of this process: POSIX drops all
   * locks that a process holds on a file when the process closes any descriptor of it, and another process, such as a
   * backup, would then take itself for the last one and delete the log (https://www.sqlite.org/howtocorrupt.html, 2.2).
   */
  constructor(path: string, headerFile: number) {
    this.#path = path;
    this.#headerFile = headerFile;
  }

  /** Once, after the connection's first transaction: then its log and the log's index exist. */
  remember(): void {
    if (this.#identities !== null) return;
    const paths = [this.#path, `${this.#path}-wal`, `${this.#path}-shm`, join(dirname(this.#path), 'postern.lock')];
    const found = paths.flatMap((path) => {
      const stats = statOrNull(path);
      return stats === null ? [] : [[path, identityOf(stats)] as const];
    });
    this.#identities = new Map(found);
    this.#largestBytes = statOrNull(this.#path)?.size ?? 0;
  }

  /** Throws when a file is not the one that was opened, or is shorter than it was and than its header says. */
  check(): void {
    for (const [path, identity] of this.#identities ?? []) {
      const stats = statOrNull(path);
      if (stats === null) throw gone(path, 'was removed');
      if (identityOf(stats) !== identity) throw gone(path, 'was replaced by another file');
      if (path === this.#path) this.#checkLength(stats.size);
    }
  }

  /** Whether the file still starts like a database: an overwritten one does not, whatever is in memory. */
  checkHeader(): void {
    if (this.#header().toString('latin1', 0, MAGIC.length) !== MAGIC)
      throw damaged(this.#path, 'it does not start with the header of a database');
  }

  #checkLength(bytes: number): void {
    // A checkpoint may undo growth by an earlier one that a full disk interrupted.
    if (bytes < this.#largestBytes && bytes < Math.max(HEADER_BYTES, lengthIn(this.#header()))) {
      throw damaged(this.#path, `it was truncated from ${this.#largestBytes} to ${bytes} bytes`);
    }
    this.#largestBytes = bytes;
  }

  #header(): Buffer {
    const header = Buffer.alloc(HEADER_BYTES);
    reached(this.#path, () => readSync(this.#headerFile, header, 0, header.length, 0));
    return header;
  }
}

/** Page size times pages: https://www.sqlite.org/fileformat2.html#the_database_header */
function lengthIn(header: Buffer): number {
  const pageSize = header.readUInt16BE(16);
  return (pageSize === 1 ? 65_536 : pageSize) * header.readUInt32BE(28);
}

function statOrNull(path: string): Stats | null {
  return reached(path, () => statSync(path, { throwIfNoEntry: false })) ?? null;
}

/** The directory may become unreadable under a running server, and a disk may fail. */
function reached<Result>(path: string, look: () => Result): Result {
  try {
    return look();
  } catch (error) {
    throw storeErrors.create(
      'ERR_POSTERN_STORE_UNAVAILABLE',
      `${path} cannot be read (${messageOf(error)}). Give the user of the server access to the data directory again, or check its disk`,
      { cause: error },
    );
  }
}

function identityOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

function gone(path: string, what: string) {
  return storeErrors.create(
    'ERR_POSTERN_STORE_GONE',
    `${path} ${what} while the server was running. The server no longer writes to it. Stop the server, put the file back or restore a backup (postern store restore), then start the server`,
  );
}

/** SQLite reports several problems as lines; log lines and messages have one. */
export function damaged(path: string, problem: string, cause?: unknown) {
  const found = problem.replaceAll(/\s+/g, ' ');
  return storeErrors.create(
    'ERR_POSTERN_STORE_CORRUPT',
    `the database ${path} is damaged: ${found}. Stop the server, keep a copy of the file, and restore a backup (postern store restore --replace)`,
    { cause },
  );
}

/** The log and its index, which SQLite removes at a clean end and makes at each start, and what a start writes. */
const RESERVE_BYTES = 1_048_576;
/** A limit on the size of files and a quota count as a full disk. */
const FULL_CODES: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/**
 * The file `disk-reserve` in the data directory takes space that a start on a full disk needs. Such a start removes it.
 * Until there is room for it again, the store refuses to write: otherwise the next start would find no space.
 */
export class DiskReserve {
  readonly #path: string;
  #isHeld = false;

  constructor(dataDir: string) {
    this.#path = join(dataDir, 'disk-reserve');
  }

  /** Gives its space back. False: there was none. */
  release(): boolean {
    const isThere = this.#isThere;
    rmSync(this.#path, { force: true });
    this.#isHeld = false;
    return isThere;
  }

  /** Makes the file unless it is there. False: the disk has no room for it. */
  hold(): boolean {
    this.#isHeld ||= this.#isThere || this.#make();
    return this.#isHeld;
  }

  get #isThere(): boolean {
    return statSync(this.#path, { throwIfNoEntry: false })?.size === RESERVE_BYTES;
  }

  #make(): boolean {
    const temporary = `${this.#path}.new`;
    try {
      if (!hasRoom(dirname(this.#path))) return false;
      // Random: a file system that compresses would take no space for zeros.
      writeSynced(temporary, randomFillSync(Buffer.allocUnsafe(RESERVE_BYTES)));
      renameSync(temporary, this.#path);
      return true;
    } catch (error) {
      // Anything else than a full disk keeps SQLite from writing too, with a better message.
      if (!FULL_CODES.has(failureCode(error))) return true;
      rmSync(temporary, { force: true });
      return false;
    }
  }
}

/** The reserve must not take what this start needs itself. */
function hasRoom(directory: string): boolean {
  const { blocks, bavail, bsize } = statfsSync(directory);
  // Some network file systems do not know.
  return blocks === 0 || bavail * bsize >= 2 * RESERVE_BYTES;
}

/** Whether a full disk is the cause. */
export function isDiskFull(error: unknown): boolean {
  if (error instanceof PosternError) return error.code === 'ERR_POSTERN_STORE_FULL';
  return FULL_CODES.has(failureCode(error));
}

function writeSynced(path: string, bytes: Buffer): void {
  const file = openSync(path, 'w', 0o600);
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
