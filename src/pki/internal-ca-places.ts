import { join } from 'node:path';

export interface InternalCaPlace {
  /** Id of its record in the store. */
  readonly id: string;
  readonly directory: string;
  /** The certificate that clients must trust. */
  readonly certificateFile: string;
}

/** File name of the certificate in a CA's directory. */
export const CERTIFICATE_FILE = 'certificate.pem';

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
