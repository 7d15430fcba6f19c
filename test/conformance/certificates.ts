import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import {
  BasicConstraintsExtension,
  Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' };
const SIGNING = { name: 'ECDSA', hash: 'SHA-256' };
const DAY_MS = 86_400_000;
const KEY_USAGE_OID = '2.5.29.15';

export interface KeyAndCertificate {
  readonly certificatePem: string;
  readonly keyPem: string;
}

export interface CertificateRequest {
  readonly commonName: string;
  readonly isCa?: boolean;
  readonly dnsNames?: readonly string[];
  /** An extension that no decoder of key usages understands. */
  readonly hasBrokenKeyUsage?: boolean;
}

/** A self-signed certificate and its key, in PEM. */
export async function makeCertificate(request: CertificateRequest): Promise<KeyAndCertificate> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const extensions: Extension[] = [];
  if (request.isCa === true) extensions.push(new BasicConstraintsExtension(true, undefined, true));
  if (request.hasBrokenKeyUsage === true) extensions.push(new Extension(KEY_USAGE_OID, false, new Uint8Array([5, 9])));
  else if (request.isCa === true) extensions.push(new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true));
  if (request.dnsNames !== undefined) {
    extensions.push(
      new SubjectAlternativeNameExtension(request.dnsNames.map((value) => ({ type: 'dns' as const, value }))),
    );
  }
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: '0a0b0c0d',
    name: [{ CN: [request.commonName] }],
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + DAY_MS),
    keys,
    signingAlgorithm: SIGNING,
    extensions,
  });
  const keyDer = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return {
    certificatePem: `${certificate.toString('pem')}\n`,
    keyPem: `${PemConverter.encode(keyDer, 'PRIVATE KEY')}\n`,
  };
}
