import { rootCertificates } from 'node:tls';

/** A certificate in PEM form; which one does not matter. */
export const rootPem = (rootCertificates[0] as string).trim();
