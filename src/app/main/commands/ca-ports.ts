import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { failureCode } from '../../../kit/error-text.ts';
import { pkiErrors } from '../../../proxy/pki/errors.ts';
import { internalCaPlaces } from '../../../proxy/pki/internal-ca-places.ts';
import type { CaCertificate, CaPorts, WhichCa } from '../../cli/ca/ca-command.ts';

const DOMAIN_CA = 'domain-';

/** Read-only: with a mistyped data directory, a CA that no server uses must not be created and trusted. */
export const caPorts: CaPorts = {
  read: async ({ data_dir: dataDir, domain: configured }, which, isDomainNamed) => {
    const known = which === 'domain' ? await knownDomains(dataDir) : [];
    const domains = isDomainNamed || known.length === 0 ? [configured] : known;
    return Promise.all(domains.map((domain) => readCa(dataDir, { domain, which, known })));
  },
};

interface Wanted {
  readonly domain: string;
  readonly which: WhichCa;
  readonly known: readonly string[];
}

async function readCa(dataDir: string, { domain, which, known }: Wanted): Promise<CaCertificate> {
  const file = resolve(internalCaPlaces(dataDir, domain)[which].certificateFile);
  try {
    return { file, domain, pem: await readFile(file, 'utf8') };
  } catch (cause) {
    const advice =
      known.length > 0
        ? `This data directory has internal CAs for ${known.join(', ')}: set --domain to one of them`
        : `The server creates it on its first start with this data directory: check --data-dir, and run this command as the server's user`;
    const message = `cannot read the internal CA ${file} (${failureCode(cause)}). ${advice}`;
    throw pkiErrors.create('ERR_POSTERN_INTERNAL_CA', message, { cause });
  }
}

async function knownDomains(dataDir: string): Promise<readonly string[]> {
  const names = await readdir(join(dataDir, 'internal-ca')).catch(() => []);
  return names
    .filter((name) => name.startsWith(DOMAIN_CA))
    .map((name) => name.slice(DOMAIN_CA.length))
    .toSorted();
}
