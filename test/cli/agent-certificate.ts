import { X509Certificate } from 'node:crypto';
import { rootCertificates } from 'node:tls';

/** A certificate in the PEM form that commands pass on, with lines of 64 characters; any certificate works. */
export const rootPem = new X509Certificate(rootCertificates[0] as string).toString();
