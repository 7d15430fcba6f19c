import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { syncDirectory } from './key-file.ts';

export function databasePath(dataDir: string): string {
  return join(dataDir, 'postern.sqlite');
}

/** Mode 0700, and synced in its parent, so that a power loss cannot remove the whole directory. */
export function makeDataDirectory(dataDir: string): void {
  if (existsSync(dataDir)) return;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  chmodSync(dataDir, 0o700);
  syncDirectory(dirname(join(dataDir, '.')));
}

/**
 * SQLite gives its log and index the mode of the database file, so the file is created first, with access for us alone.
 */
export function makePrivateFile(path: string): void {
  if (existsSync(path)) return;
  closeSync(openSync(path, 'a', 0o600));
  syncDirectory(dirname(path));
}
