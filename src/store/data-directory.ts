import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeDirectories } from '../lib/process/make-directories.ts';
import { shellWord } from '../lib/text/shell-word.ts';
import { storeErrors } from './errors.ts';
import { modeForOthers, syncDirectory } from './key-file.ts';

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
 * Who may write there can replace the database and the secret key. The rights of the group do not matter: Kubernetes gives a volume to the
 * group of its pod.
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
