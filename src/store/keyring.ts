import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
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
import { shellWord } from '../kit/text/terminal-text.ts';
import { storeErrors } from './errors.ts';
import type { Store } from './store.ts';

/** The secret keys: the current one seals, all of them open. */
export interface Keyring {
  /** At first the first one. */
  readonly currentKeyId: string;
  /** All keys, as configured. */
  readonly keyIds: readonly string[];
  /** Makes another key of the ring the current one: other nodes may not have the first one yet. */
  use(keyId: string): void;
  /** `context` names the row (`kind/id`): a sealed value that was moved to another row does not open there. */
  seal(text: string, context: string): string;
  open(sealed: string, context: string): string;
  /** HMAC-SHA256 under a separate key per purpose, in hex. Uses the current key. */
  mac(purpose: string, data: string): string;
}

export const SECRET_KEY_BYTES = 32;
const NONCE_BYTES = 12;
/** Each call of the random generator takes as long as a third of the encryption. */
const NONCES_AT_ONCE = 256;
const TAG_BYTES = 16;
/** First part of a sealed text: the scheme. A second scheme would get another name. */
const SCHEME = 's1';

export function createKeyring(keys: readonly Buffer[]): Keyring {
  const [first] = keys;
  if (first === undefined) throw new TypeError('a keyring needs a key');
  let current = first;
  let currentKeyId = keyIdOf(first);
  const sealingKeys = new Map(keys.map((key) => [keyIdOf(key), derive(key, 'seal')]));
  const macKeys = new Map<string, Buffer>();
  return {
    get currentKeyId() {
      return currentKeyId;
    },
    keyIds: [...sealingKeys.keys()],
    use: (keyId) => {
      const key = keys.find((each) => keyIdOf(each) === keyId);
      if (key === undefined) throw new Error(`the key ${keyId} is not in the ring`);
      if (keyId === currentKeyId) return;
      current = key;
      currentKeyId = keyId;
      macKeys.clear();
    },
    seal: (text, context) => sealWith(derivedKey(sealingKeys, currentKeyId), currentKeyId, text, context),
    open: (sealed, context) => openWith(sealingKeys, sealed, context),
    mac: (purpose, data) => {
      let key = macKeys.get(purpose);
      if (key === undefined) {
        key = derive(current, `mac/${purpose}`);
        macKeys.set(purpose, key);
      }
      return createHmac('sha256', key).update(data).digest('hex');
    },
  };
}

/** A short fingerprint of a derived value: it distinguishes keys and reveals nothing about them. */
export function keyIdOf(key: Buffer): string {
  return derive(key, 'key-id').subarray(0, 5).toString('hex');
}

/** The key that sealed a text. */
export function sealedKeyId(sealed: string): string {
  return parse(sealed).keyId;
}

/** The prefix of every text sealed by this key. */
export function sealedPrefix(keyId: string): string {
  return `${SCHEME}.${keyId}.`;
}

function derive(key: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), `postern/${purpose}`, 32));
}

function derivedKey(keys: ReadonlyMap<string, Buffer>, keyId: string): Buffer {
  const key = keys.get(keyId);
  if (key === undefined) {
    throw storeErrors.create(
      'ERR_POSTERN_SECRET_KEY',
      `a secret was encrypted with key ${keyId}, which is not configured (configured: ${[...keys.keys()].join(', ')})`,
      { details: { key_id: keyId } },
    );
  }
  return key;
}

let nonces = Buffer.alloc(0);

/** Each part of the random bytes is used once. */
function nextNonce(): Buffer {
  if (nonces.length === 0) nonces = randomBytes(NONCES_AT_ONCE * NONCE_BYTES);
  const nonce = nonces.subarray(0, NONCE_BYTES);
  nonces = nonces.subarray(NONCE_BYTES);
  return nonce;
}

function sealWith(key: Buffer, keyId: string, text: string, context: string): string {
  // Random 96-bit nonces are safe for 2^32 messages under one key: more writes than a store sees between rotations.
  const nonce = nextNonce();
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context));
  const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return `${sealedPrefix(keyId)}${sealed.toString('base64url')}`;
}

function openWith(keys: ReadonlyMap<string, Buffer>, sealed: string, context: string): string {
  const { keyId, bytes } = parse(sealed);
  const decipher = createDecipheriv('aes-256-gcm', derivedKey(keys, keyId), bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
    .setAAD(Buffer.from(context))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  } catch (cause) {
    throw corrupt(
      `the encrypted secret of ${context} cannot be decrypted: it was changed, or belongs to another row`,
      cause,
    );
  }
}

function parse(sealed: string): { readonly keyId: string; readonly bytes: Buffer } {
  const [scheme, keyId, payload] = sealed.split('.');
  const bytes = Buffer.from(payload ?? '', 'base64url');
  if (scheme !== SCHEME || keyId === undefined || bytes.length < NONCE_BYTES + TAG_BYTES) {
    throw corrupt('an encrypted secret is not in the format that Postern writes');
  }
  return { keyId, bytes };
}

function corrupt(message: string, cause?: unknown) {
  return storeErrors.create('ERR_POSTERN_STORE_CORRUPT', message, { cause });
}

/** What modules and nodes seal and sign for themselves, each bound to its purpose. */
export function purposeSeals(keyring: Keyring): Pick<Store, 'mac' | 'seal' | 'open'> {
  return {
    mac: (purpose, data) => keyring.mac(purpose, data),
    seal: (purpose, text) => keyring.seal(text, `purpose/${purpose}`),
    open: (purpose, sealed) => {
      try {
        return keyring.open(sealed, `purpose/${purpose}`);
      } catch {
        return null;
      }
    },
  };
}

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
