import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto';
import { SECRET_KEY_BYTES } from '../keyring.ts';
import { invalidBackup } from './invalid-backup.ts';

/** The secret keys under a passphrase: AES-256-GCM with a key derived by scrypt. */
export interface WrappedKeys {
  readonly kdf: 'scrypt';
  readonly n: number;
  readonly r: number;
  readonly p: number;
  readonly salt: string;
  /** Nonce, ciphertext and tag, base64. */
  readonly sealed: string;
}

/** OWASP's first choice for scrypt: 128 MiB and a large part of a second per guess. */
const COST = { n: 2 ** 17, r: 8, p: 1 };
/** A foreign file must not make us use all memory. */
const MAX_MEMORY_BYTES = 512 * 1024 * 1024;
const CONTEXT = Buffer.from('postern-backup/keys');
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export function wrapKeys(keys: readonly Buffer[], passphrase: string): WrappedKeys {
  const salt = randomBytes(16);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', deriveKey(passphrase, salt, COST), nonce).setAAD(CONTEXT);
  const sealed = Buffer.concat([nonce, cipher.update(Buffer.concat(keys)), cipher.final(), cipher.getAuthTag()]);
  return { kdf: 'scrypt', ...COST, salt: salt.toString('base64'), sealed: sealed.toString('base64') };
}

export function unwrapKeys(wrapped: WrappedKeys, passphrase: string): Buffer[] {
  const sealed = Buffer.from(wrapped.sealed, 'base64');
  try {
    const key = deriveKey(passphrase, Buffer.from(wrapped.salt, 'base64'), wrapped);
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
      .setAAD(CONTEXT)
      .setAuthTag(sealed.subarray(-TAG_BYTES));
    const bytes = Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
    return Array.from({ length: bytes.length / SECRET_KEY_BYTES }, (_, at) =>
      bytes.subarray(at * SECRET_KEY_BYTES, (at + 1) * SECRET_KEY_BYTES),
    );
  } catch (cause) {
    throw invalidBackup('wrong passphrase: it does not decrypt the secret key in the backup', cause);
  }
}

function deriveKey(passphrase: string, salt: Buffer, { n, r, p }: typeof COST): Buffer {
  return scryptSync(passphrase, salt, 32, { N: n, r, p, maxmem: MAX_MEMORY_BYTES });
}
