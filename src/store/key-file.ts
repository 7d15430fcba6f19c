import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { shellWord } from '../lib/text/shell-word.ts';
import { storeErrors } from './errors.ts';
import { SECRET_KEY_BYTES } from './keyring.ts';

/** One key per line, base64; the first is current. */
export function keyFilePath(dataDir: string): string {
  return join(dataDir, 'secret.key');
}

export function readKeyFile(dataDir: string): Buffer[] | null {
  const path = keyFilePath(dataDir);
  if (!existsSync(path)) return null;
  const mode = modeForOthers(statSync(path), 0o006);
  if (mode !== null)
    throw storeErrors.create(
      'ERR_POSTERN_SECRET_KEY',
      `every user of this machine may read or write the secret key ${path} (mode ${mode}): run "chmod 600 ${shellWord(path)}". If others may have read it, replace it with "postern store rotate-key"`,
    );
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '');
  if (lines.length === 0) throw malformed(path, 'contains no key');
  return lines.map((line) => parseSecretKey(line, path));
}

/** The mode, if it gives users outside of the owner and the group any of these rights. Windows has no such bits. */
export function modeForOthers({ mode }: Stats, rights: number): string | null {
  if (process.platform === 'win32' || (mode & rights) === 0) return null;
  return (mode & 0o7777).toString(8).padStart(4, '0');
}

/** Atomic: a key file truncated by a crash would cost every secret in the store. */
export function writeKeyFile(dataDir: string, keys: readonly Buffer[]): void {
  const path = keyFilePath(dataDir);
  const temporary = `${path}.new`;
  const file = openSync(temporary, 'w', 0o600);
  try {
    writeSync(file, `${keys.map((key) => key.toString('base64')).join('\n')}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
  syncDirectory(dirname(path));
}

/** Without this a power loss may undo a rename or a new file. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** `where` is the setting or file that the text came from. The text itself never appears in the message. */
export function parseSecretKey(text: string, where: string): Buffer {
  const trimmed = text.trim();
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(trimmed)) {
    throw malformed(where, `must be ${SECRET_KEY_BYTES} bytes in base64, but contains other characters`);
  }
  const key = Buffer.from(trimmed, 'base64');
  if (key.length !== SECRET_KEY_BYTES) {
    throw malformed(where, `must be ${SECRET_KEY_BYTES} bytes in base64, but decodes to ${key.length}`);
  }
  return key;
}

function malformed(where: string, problem: string) {
  return storeErrors.create(
    'ERR_POSTERN_SECRET_KEY',
    `${where}: ${problem}. To create a new key, run: openssl rand -base64 32`,
  );
}
