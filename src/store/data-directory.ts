import { chmodSync, closeSync, existsSync, lchownSync, lstatSync, openSync, readdirSync, statSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { failureCode } from '../kit/error-text.ts';
import { makeDirectories } from '../kit/process/durable-file.ts';
import { shellWord } from '../kit/text/terminal-text.ts';
import { storeErrors } from './errors.ts';
import { modeForOthers, syncDirectory } from './keyring.ts';

export function databasePath(dataDir: string): string {
  return join(dataDir, 'postern.sqlite');
}

/** Mode 0700, and synced in its parent, so that a power loss cannot remove the whole directory. */
export function makeDataDirectory(dataDir: string): void {
  if (existsSync(dataDir)) {
    refuseOpenDirectory(dataDir);
    return;
  }
  makeDirectories(dataDir, 0o700);
  chmodSync(dataDir, 0o700);
  syncDirectory(dirname(join(dataDir, '.')));
}

/**
 * Who may write there can replace the database and the secret key. The rights of the group do not matter: Kubernetes
 * gives a volume to the group of its pod.
 */
function refuseOpenDirectory(dataDir: string): void {
  const mode = modeForOthers(statSync(dataDir), 0o002);
  if (mode === null) return;
  throw storeErrors.create(
    'ERR_POSTERN_DATA_DIR',
    `every user of this machine may write to the data directory ${dataDir} (mode ${mode}): run "chmod 700 ${shellWord(dataDir)}", or move data_dir to a file system with permissions`,
  );
}

/**
 * SQLite gives its log and index the mode of the database file, so the file is created first, with access for us alone.
 */
export function makePrivateFile(path: string): void {
  if (existsSync(path)) return;
  closeSync(openSync(path, 'a', 0o600));
  syncDirectory(dirname(path));
}

const NOT_A_DIRECTORY: ReadonlySet<string> = new Set(['EEXIST', 'ENOTDIR']);

/** Creates the data directory for this user alone, or fails now if it is not writable. */
export async function prepareDataDir(path: string): Promise<void> {
  try {
    makeDirectories(path, 0o700);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    const code = failureCode(cause, 'error');
    const why = NOT_A_DIRECTORY.has(code)
      ? 'it, or a part of its path, is a file and not a directory'
      : code === 'ENOENT'
        ? 'nothing can be made there'
        : code === 'EACCES' || code === 'EPERM'
          ? 'this user may not write there'
          : code;
    const message =
      code === 'EROFS'
        ? `cannot use the data directory ${path}: its file system is mounted read-only. A server that ran goes on, but none can start there. Mount it read-write after you have checked its disk`
        : `cannot use the data directory ${path} (${why}). Set another with data_dir (POSTERN_DATA_DIR)`;
    throw storeErrors.create('ERR_POSTERN_DATA_DIR', message, { cause });
  }
}

/**
 * Files that root makes in the data directory of a service would be closed to the service: systemd gives it the
 * directory, and does not look at the files as long as the directory has the right owner. Another name of a file (a
 * hard link) may be anybody's.
 */
export function giveToOwner(path: string): void {
  if (process.getuid?.() !== 0 || !existsSync(path)) return;
  const { uid, gid } = statSync(path);
  if (uid === 0) return;
  for (const name of readdirSync(path)) {
    const file = join(path, name);
    const found = lstatSync(file);
    if (found.uid === 0 && (found.isDirectory() || (found.isFile() && found.nlink === 1))) lchownSync(file, uid, gid);
  }
}
