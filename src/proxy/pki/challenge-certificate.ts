// @peculiar/x509 requires this before it is loaded.
import 'reflect-metadata';
import { hash, KeyObject, webcrypto } from 'node:crypto';
import { Extension, SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509';
import { backdated, KEY_ALGORITHM, newSerialNumber, SIGNATURE_ALGORITHM } from './certificate-authority.ts';

/** RFC 8737 §3: id-pe-acmeIdentifier. */
const ACME_IDENTIFIER = '1.3.6.1.5.5.7.1.31';
const DER_OCTET_STRING = 0x04;
const LIFE_MS = 7 * 24 * 60 * 60 * 1000;

export interface ChallengeCertificateRequest {
  readonly hostname: string;
  readonly keyAuthorization: string;
  readonly nowMs: number;
}

export interface ChallengeCertificate {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

/** The self-signed certificate that answers tls-alpn-01: exactly one name, and the proof as a critical extension. */
export async function challengeCertificate(request: ChallengeCertificateRequest): Promise<ChallengeCertificate> {
  const { hostname, keyAuthorization, nowMs } = request;
  const keys = await webcrypto.subtle.generateKey(KEY_ALGORITHM, true, ['sign', 'verify']);
  const digest = hash('sha256', keyAuthorization, 'buffer');
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: newSerialNumber(),
    // A common name is limited to 64 characters, a host is not; validators read the alternative name.
    name: [{ CN: ['ACME challenge'] }],
    notBefore: backdated(nowMs),
    notAfter: new Date(nowMs + LIFE_MS),
    keys,
    signingAlgorithm: SIGNATURE_ALGORITHM,
    extensions: [
      new SubjectAlternativeNameExtension([{ type: 'dns', value: hostname }]),
      new Extension(ACME_IDENTIFIER, true, Buffer.concat([Buffer.from([DER_OCTET_STRING, digest.length]), digest])),
    ],
  });
  return {
    certificatePem: certificate.toString('pem'),
    privateKeyPem: KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}
