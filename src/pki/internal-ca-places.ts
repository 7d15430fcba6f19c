import { join } from 'node:path';

export interface InternalCaPlace {
  /** Of its record in the store. */
  readonly id: string;
  readonly directory: string;
  /** What clients are to trust. */
  readonly certificateFile: string;
}

/** Name of the file with the certificate in the directory of a CA. */
export const CERTIFICATE_FILE = 'certificate.pem';

/** The two CAs. One per domain: a CA's constraint cannot change, the setting can. */
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
