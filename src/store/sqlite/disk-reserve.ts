import { randomFillSync } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { failureCode } from '../../lib/error-text.ts';
import { PosternError } from '../../lib/errors.ts';

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
