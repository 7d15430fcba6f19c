import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { CaPorts } from '../../cli/ca/ca-ports.ts';
import { pkiErrors } from '../../pki/errors.ts';
import { internalCaPlaces } from '../../pki/internal-ca-places.ts';

/** Read-only: with a mistyped data directory, a CA that no server uses must not be created and trusted. */
export const caPorts: CaPorts = {
  read: async ({ data_dir: dataDir, domain }, which) => {
    const file = resolve(internalCaPlaces(dataDir, domain)[which].certificateFile);
    try {
      return { file, pem: await readFile(file, 'utf8') };
    } catch (cause) {
      const message = `cannot read the internal CA ${file}. The server creates it on its first start with this data directory and domain: check --data-dir and --domain, and run this command as the server's user`;
      throw pkiErrors.create('ERR_POSTERN_INTERNAL_CA', message, { cause });
    }
  },
};
