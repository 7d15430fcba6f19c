import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurably } from '../lib/process/durable-file.ts';
import type { AuthorityPair } from './authority-records.ts';
import { CERTIFICATE_FILE } from './internal-ca-places.ts';

/** Leaves the certificate where clients, agents and `postern ca` on this machine look for it. The key stays in the store. */
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
