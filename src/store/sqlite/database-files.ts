import { readSync, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { messageOf } from '../../lib/error-text.ts';
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
   * `headerFile`: the open database file. It stays open as long as any connection of this process: POSIX drops all locks
   * that a process holds on a file when the process closes any descriptor of it, and another process, such as a backup,
   * would then take itself for the last one and delete the log (https://www.sqlite.org/howtocorrupt.html, 2.2).
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
