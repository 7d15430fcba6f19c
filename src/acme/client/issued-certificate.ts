import { createPrivateKey, type X509Certificate } from 'node:crypto';
import { certificatesIn } from '../../lib/pki/describe-certificate.ts';
import { fieldsOf } from '../../lib/pki/revocation-list/certificate-fields.ts';
import { AcmeFailure } from './acme-failure.ts';

export interface IssuedCertificate {
  /** Leaf first, nothing but certificates. */
  readonly certificatePem: string;
  readonly serialNumber: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

const EXACT = { subject: 'never', wildcards: false } as const;

/** Checks what the server issued before it replaces a certificate that works. */
export function issuedCertificate(
  chainPem: string,
  {
    privateKeyPem,
    hostname,
    nowMs,
  }: { readonly privateKeyPem: string; readonly hostname: string; readonly nowMs: number },
): IssuedCertificate {
  const { chain, leaf, serial } = readChain(chainPem);
  if (!leaf.checkPrivateKey(createPrivateKey(privateKeyPem))) throw unusable('it is not for the key of the order');
  if (leaf.checkHost(hostname, EXACT) === undefined) throw unusable(`it is not for ${hostname}`);
  const [notBeforeMs, notAfterMs] = [leaf.validFromDate.getTime(), leaf.validToDate.getTime()];
  if (Number.isNaN(notBeforeMs) || Number.isNaN(notAfterMs)) throw unusable('its dates cannot be read');
  if (notAfterMs <= nowMs) {
    throw unusable(`it expired at ${leaf.validToDate.toISOString()}: check the clock of this server`);
  }
  return {
    certificatePem: chain.map((certificate) => certificate.toString()).join(''),
    serialNumber: serial.toString('hex'),
    notBeforeMs,
    notAfterMs,
  };
}

/** Only by the runtime: the ASN.1 library takes 80 ms for a certificate with 1000 names, which has 6 KB. */
function readChain(pem: string) {
  try {
    const chain = certificatesIn(pem);
    const leaf = chain[0] as X509Certificate;
    return { chain, leaf, serial: fieldsOf(leaf).serial };
  } catch (error) {
    throw unusable(error instanceof Error ? error.message : 'it is not a PEM certificate chain');
  }
}

/** Identifier of RFC 9773 §4.1. Null for a certificate without an authority key identifier. */
export function renewalId(certificatePem: string): string | null {
  try {
    const { serial, authorityKeyId } = fieldsOf(certificatesIn(certificatePem)[0] as X509Certificate);
    return authorityKeyId === null ? null : `${authorityKeyId.toString('base64url')}.${serial.toString('base64url')}`;
  } catch {
    // Renewal does not depend on it.
    return null;
  }
}

function unusable(reason: string): AcmeFailure {
  return new AcmeFailure('ERR_POSTERN_ACME_CERTIFICATE', `the issued certificate cannot be used: ${reason}`);
}
