import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurably } from '../../kit/process/durable-file.ts';

/** A setting of a certificate file with this value requests a certificate of the internal CA. */
export const INTERNAL_CERTIFICATE = 'internal';

interface InternalCaPlace {
  /** Id of its record in the store. */
  readonly id: string;
  readonly directory: string;
  /** The certificate that clients must trust. */
  readonly certificateFile: string;
}

/** File name of the certificate in a CA's directory. */
const CERTIFICATE_FILE = 'certificate.pem';

/** The two CAs. One per domain: a CA's constraint cannot change, but the setting can. */
export function internalCaPlaces(
  dataDir: string,
  domain: string,
): { readonly domain: InternalCaPlace; readonly other: InternalCaPlace } {
  const place = (name: string): InternalCaPlace => {
    const directory = join(dataDir, 'internal-ca', name);
    return { id: name, directory, certificateFile: join(directory, CERTIFICATE_FILE) };
  };
  return { domain: place(`domain-${domain}`), other: place('other') };
}

/**
 * Leaves the certificate where clients, agents and `postern ca` on this machine look for it. The key stays in the
 * store.
 */
export async function publishCertificate(directory: string, { certificatePem }: AuthorityPair): Promise<void> {
  const path = join(directory, CERTIFICATE_FILE);
  if ((await readIfThere(path)) === certificatePem) return;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await writeDurably(path, certificatePem, 0o644);
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

/** A CA as it is stored. */
export interface AuthorityPair {
  readonly certificatePem: string;
  /** PKCS #8, PEM. */
  readonly privateKeyPem: string;
}

/** Storage of CAs: sealed, in backups, shared by all processes on one database. */
export interface AuthorityRecords {
  get(id: string): AuthorityPair | null;
  /** Adds only if the id is new: two processes that create a CA at once end up with the same one. */
  add(id: string, pair: AuthorityPair): Promise<void>;
}

export interface AuthorityLog {
  info(fields: object, message: string): void;
}
