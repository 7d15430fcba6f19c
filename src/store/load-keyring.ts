import { randomBytes } from 'node:crypto';
import { storeErrors } from './errors.ts';
import { keyFilePath, parseSecretKey, readKeyFile, writeKeyFile } from './key-file.ts';
import { createKeyring, type Keyring, SECRET_KEY_BYTES, sealedKeyId } from './keyring.ts';

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
