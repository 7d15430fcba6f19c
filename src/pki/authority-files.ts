import { X509Certificate } from 'node:crypto';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurably } from '../lib/durable-file.ts';
import type { AuthorityLog, AuthorityPair } from './authority-records.ts';
import { CERTIFICATE_FILE } from './internal-ca-places.ts';

/** Versions that did not keep CAs in the store left the key here, unencrypted. */
const KEY_FILE = 'key.pem';

/** A CA of such a version. Null when there is none: a certificate without a key is only the public copy. */
export async function readAuthorityFiles(directory: string): Promise<AuthorityPair | null> {
  const certificatePem = await readIfThere(join(directory, CERTIFICATE_FILE));
  const privateKeyPem = await readIfThere(join(directory, KEY_FILE));
  return certificatePem === null || privateKeyPem === null ? null : { certificatePem, privateKeyPem };
}

/**
 * Leaves the certificate where clients, agents and `postern ca` on this machine look for it, and no unencrypted key:
 * the store has it by now. A different CA in the directory is moved aside with its key, because no other copy exists.
 */
export async function publishCertificate(directory: string, { certificatePem }: AuthorityPair, log: AuthorityLog) {
  const files = await readAuthorityFiles(directory);
  if (files !== null && files.certificatePem !== certificatePem) {
    const aside = `${directory}.replaced-${Date.now().toString(36)}`;
    await rename(directory, aside);
    log.warn(
      { directory, moved_to: aside, fingerprint: new X509Certificate(certificatePem).fingerprint256 },
      'the internal CA in the data directory differs from the one in the store: clients must trust the one in the store',
    );
  }
  const path = join(directory, CERTIFICATE_FILE);
  if ((await readIfThere(path)) !== certificatePem) {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await writeDurably(path, certificatePem, 0o644);
  }
  await rm(join(directory, KEY_FILE), { force: true });
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
