// @peculiar/x509 requires this before it is loaded.
import 'reflect-metadata';
import { createPrivateKey, type X509Certificate as NodeCertificate } from 'node:crypto';
import { AuthorityKeyIdentifierExtension, X509Certificate } from '@peculiar/x509';
import { certificatesIn, describeCertificate } from '../../lib/describe-certificate.ts';
import { AcmeFailure } from './acme-failure.ts';

export interface IssuedCertificate {
  /** Leaf first, nothing but certificates. */
  readonly certificatePem: string;
  readonly serialNumber: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** Checks what the server issued before it replaces a certificate that works. */
export function issuedCertificate(
  chainPem: string,
  {
    privateKeyPem,
    hostname,
    nowMs,
  }: { readonly privateKeyPem: string; readonly hostname: string; readonly nowMs: number },
): IssuedCertificate {
  const { chain, leaf, found } = readChain(chainPem);
  if (!leaf.checkPrivateKey(createPrivateKey(privateKeyPem))) throw unusable('it is not for the key of the order');
  if (!found.dnsNames.some((name) => name.toLowerCase() === hostname)) throw unusable(`it is not for ${hostname}`);
  const notAfterMs = Date.parse(found.notAfter);
  if (!(notAfterMs > nowMs)) {
    throw unusable(`it expired at ${found.notAfter}: check the clock of this server`);
  }
  return {
    certificatePem: chain.map((certificate) => certificate.toString()).join(''),
    serialNumber: found.serialNumber,
    notBeforeMs: Date.parse(found.notBefore),
    notAfterMs,
  };
}

function readChain(pem: string) {
  try {
    const chain = certificatesIn(pem);
    const leaf = chain[0] as NodeCertificate;
    return { chain, leaf, found: describeCertificate(leaf) };
  } catch (error) {
    throw unusable(error instanceof Error ? error.message : 'it is not a PEM certificate chain');
  }
}

/** Identifier of RFC 9773 §4.1. Null for a certificate without an authority key identifier. */
export function renewalId(certificatePem: string): string | null {
  const leaf = certificatesIn(certificatePem)[0] as NodeCertificate;
  const parsed = new X509Certificate(leaf.raw);
  const keyId = parsed.getExtension(AuthorityKeyIdentifierExtension)?.keyId;
  if (keyId === undefined) return null;
  const hex = leaf.serialNumber.length % 2 === 0 ? leaf.serialNumber : `0${leaf.serialNumber}`;
  const serial = Buffer.from(hex, 'hex');
  // As in DER: a positive number whose first bit is set has a zero byte before it.
  const encoded = (serial[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), serial]) : serial;
  return `${Buffer.from(keyId, 'hex').toString('base64url')}.${encoded.toString('base64url')}`;
}

function unusable(reason: string): AcmeFailure {
  return new AcmeFailure('ERR_POSTERN_ACME_CERTIFICATE', `the issued certificate cannot be used: ${reason}`);
}
