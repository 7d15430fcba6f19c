import { randomBytes } from 'node:crypto';
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
import { shellWord } from '../lib/text/terminal-text.ts';
import { storeErrors } from './errors.ts';
import { createKeyring, type Keyring, SECRET_KEY_BYTES, sealedKeyId } from './keyring.ts';

/** One key per line, base64; the first is current. */
export function keyFilePath(dataDir: string): string {
  return join(dataDir, 'secret.key');
}

function readKeyFile(dataDir: string): Buffer[] | null {
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
function parseSecretKey(text: string, where: string): Buffer {
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

export interface KeySource {
  readonly dataDir: string;
  /**
   * POSTERN_SECRET_KEY: base64 of 32 bytes, or several separated by commas; the first is current, the rest only open.
   */
  readonly configured: string | null;
}

/**
 * `mayCreate` only for a new store: a fresh key for an existing store would make its secrets permanently unreadable.
 */
export function loadKeyring(source: KeySource & { readonly mayCreate: boolean }): Keyring {
  const keys = readKeys(source);
  if (keys !== null) return createKeyring(keys);
  if (!source.mayCreate) {
    throw storeErrors.create(
      'ERR_POSTERN_SECRET_KEY',
      `the store exists, but its secret key is missing: ${keyLocation(source)} does not exist. Restore the key file, or set POSTERN_SECRET_KEY`,
    );
  }
  const key = randomBytes(SECRET_KEY_BYTES);
  writeKeyFile(source.dataDir, [key]);
  return createKeyring([key]);
}

/** Null when there is none. The setting overrides the file. */
export function readKeys({ dataDir, configured }: KeySource): readonly Buffer[] | null {
  if (configured === null || configured.trim() === '') return readKeyFile(dataDir);
  return configured.split(',').map((text) => parseSecretKey(text, 'POSTERN_SECRET_KEY'));
}

export function keyLocation({ dataDir, configured }: KeySource): string {
  return configured === null || configured.trim() === '' ? keyFilePath(dataDir) : 'POSTERN_SECRET_KEY';
}

const CHECK_CONTEXT = 'meta/key_check';
const CHECK_TEXT = 'postern';

/** A constant sealed under the current key, kept in the store: shows at the start whether the key is the right one. */
export function sealKeyCheck(keyring: Keyring): string {
  return keyring.seal(CHECK_TEXT, CHECK_CONTEXT);
}

export function verifyKeyCheck(check: string, keyring: Keyring, source: KeySource): void {
  const wanted = sealedKeyId(check);
  if (!keyring.keyIds.includes(wanted)) {
    throw storeErrors.create(
      'ERR_POSTERN_SECRET_KEY',
      `the store was written with secret key ${wanted}, but ${keyLocation(source)} has ${keyring.keyIds.join(', ')}: restore the right key`,
      { details: { wanted_key_id: wanted, given_key_id: keyring.keyIds.join(', ') } },
    );
  }
  keyring.open(check, CHECK_CONTEXT);
}
