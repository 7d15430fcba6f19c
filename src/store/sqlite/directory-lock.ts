import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeDataDirectory, makePrivateFile } from '../data-directory.ts';
import { storeErrors } from '../errors.ts';
import { fromSqliteError, isBusy } from './sqlite-connection.ts';

export interface DirectoryLock {
  release(): void;
}

export interface SuccessorLock extends DirectoryLock {
  /** Waits until the owner is gone, and becomes the owner. */
  own(): Promise<void>;
}

const OWNER_FILE = 'postern.lock';
/** Held beside the owner's by the process that takes over, until it is the owner itself. */
const SUCCESSOR_FILE = 'postern.next.lock';
const RETRY_MS = 20;

/**
 * Holds the data directory for the life of the process: an exclusive SQLite transaction on a separate file, which is an
 * operating system lock and so ends with the process in any case. Not on the database itself, which a backup must be
 * able to read.
 */
export function lockDirectory(dataDir: string): DirectoryLock {
  makeDataDirectory(dataDir);
  const lock = tryLock(join(dataDir, OWNER_FILE));
  if (lock === null) throw inUse(dataDir);
  // Between the exit of an owner and the next step of its successor, only the successor's lock is held.
  const successorFile = join(dataDir, SUCCESSOR_FILE);
  const successor = existsSync(successorFile) ? tryLock(successorFile) : undefined;
  if (successor === null) {
    lock.close();
    throw inUse(dataDir);
  }
  successor?.close();
  writePid(dataDir);
  return { release: () => lock.close() };
}

/** For a process that takes over from the owner while the owner runs. One at a time. */
export function lockAsSuccessor(dataDir: string): SuccessorLock {
  const successor = tryLock(join(dataDir, SUCCESSOR_FILE));
  if (successor === null) throw inUse(dataDir);
  let held: DatabaseSync | null = successor;
  return {
    own: async () => {
      while (held === successor) {
        const owner = tryLock(join(dataDir, OWNER_FILE));
        if (owner === null) await sleep(RETRY_MS);
        else {
          held = owner;
          successor.close();
          writePid(dataDir);
        }
      }
    },
    release: () => {
      held?.close();
      held = null;
    },
  };
}

/** The process that uses the data directory; null if none does. Only reads. */
export function holderOf(dataDir: string): string | null {
  const path = join(dataDir, OWNER_FILE);
  if (!existsSync(path)) return null;
  const lock = new DatabaseSync(path, { readOnly: true, timeout: 0 });
  try {
    lock.exec('SELECT count(*) FROM sqlite_schema');
    return null;
  } catch (error) {
    if (!isBusy(error)) throw fromSqliteError(error, path);
    return holderText(readPid(dataDir));
  } finally {
    lock.close();
  }
}

/** Null when another process has it. */
function tryLock(path: string): DatabaseSync | null {
  makePrivateFile(path);
  const lock = new DatabaseSync(path, { timeout: 0 });
  try {
    // A journal would take space on the disk, which may be full.
    lock.exec('PRAGMA journal_mode = MEMORY');
    lock.exec('BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    if (isBusy(error)) return null;
    throw fromSqliteError(error, path);
  }
}

function writePid(dataDir: string): void {
  try {
    writeFileSync(pidPath(dataDir), `${process.pid}\n`, { mode: 0o600 });
  } catch {
    // Only improves the other process's message; a full disk must not keep the server from starting.
  }
}

function inUse(dataDir: string) {
  const pid = readPid(dataDir);
  const holder = holderText(pid);
  return storeErrors.create(
    'ERR_POSTERN_STORE_IN_USE',
    `${holder} uses the data directory ${dataDir}: stop it, or set another directory with POSTERN_DATA_DIR`,
    { details: { data_dir: dataDir, ...(pid === null ? {} : { pid }) } },
  );
}

function holderText(pid: string | null): string {
  return pid === null ? 'another process' : `process ${pid}`;
}

function readPid(dataDir: string): string | null {
  try {
    return /^\d+/.exec(readFileSync(pidPath(dataDir), 'utf8'))?.[0] ?? null;
  } catch {
    return null;
  }
}

function pidPath(dataDir: string): string {
  return join(dataDir, 'postern.pid');
}
