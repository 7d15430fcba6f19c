// @peculiar/x509 requires this before it is loaded.
import 'reflect-metadata';
import { X509Certificate as CryptoCertificate, createPrivateKey, KeyObject, randomBytes, webcrypto } from 'node:crypto';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { AuthorityLog, AuthorityPair, AuthorityRecords } from './authority-records.ts';
import { pkiErrors } from './errors.ts';
import { onlyDomain } from './name-constraints.ts';
import { publishCertificate } from './publish-certificate.ts';

const VALID_YEARS = 10;
/** A client's clock may be behind ours. */
const BACKDATED_MS = 60 * 60 * 1000;
export const KEY_ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' };
export const SIGNATURE_ALGORITHM = { name: 'ECDSA', hash: 'SHA-256' };

export interface CertificateAuthority {
  readonly certificate: X509Certificate;
  readonly certificatePem: string;
  readonly privateKey: webcrypto.CryptoKey;
}

export interface AuthorityRequest {
  /** Id of its record. */
  readonly id: string;
  /** Where the certificate is published. */
  readonly directory: string;
  readonly commonName: string;
  /** The CA can issue certificates for this domain only; null for any name and address. */
  readonly domain: string | null;
  readonly nowMs: number;
}

/** Reads the CA from the store, or creates it there. */
export async function openCertificateAuthority(
  request: AuthorityRequest,
  records: AuthorityRecords,
  log: AuthorityLog,
): Promise<CertificateAuthority> {
  const { id, directory } = request;
  const authority = await keptAuthority(request, records);
  if (authority !== null) return published(authority);
  const pair = await newAuthority(request);
  const { certificate } = await opened(pair);
  await records.add(id, pair);
  // Read back, because another process may have added one first.
  const added = await keptAuthority(request, records);
  if (added === null) throw broken();
  if (added.pair.certificatePem === pair.certificatePem) {
    const fields = { id, subject: certificate.subject, not_after: certificate.notAfter.toISOString() };
    log.info(fields, 'created an internal CA');
  }
  return published(added);

  async function published({ pair: kept, ...rest }: KeptAuthority): Promise<CertificateAuthority> {
    await publishCertificate(directory, kept);
    return rest;
  }
}

interface KeptAuthority extends CertificateAuthority {
  readonly pair: AuthorityPair;
}

async function keptAuthority({ id }: AuthorityRequest, records: AuthorityRecords): Promise<KeptAuthority | null> {
  const pair = records.get(id);
  return pair === null ? null : { ...(await opened(pair)), pair };
}

async function opened({ certificatePem, privateKeyPem }: AuthorityPair): Promise<CertificateAuthority> {
  try {
    // OpenSSL parses the PEM. The library's PEM parser takes exponential time for some texts, so it gets DER only.
    const found = new CryptoCertificate(certificatePem);
    const key = createPrivateKey(privateKeyPem);
    if (!found.checkPrivateKey(key)) throw broken();
    const keyDer = key.export({ type: 'pkcs8', format: 'der' });
    const privateKey = await webcrypto.subtle.importKey('pkcs8', keyDer, KEY_ALGORITHM, false, ['sign']);
    return { certificate: new X509Certificate(found.raw), certificatePem, privateKey };
  } catch (cause) {
    throw broken(cause);
  }
}

async function newAuthority({ commonName, domain, nowMs }: AuthorityRequest): Promise<AuthorityPair> {
  const keys = await webcrypto.subtle.generateKey(KEY_ALGORITHM, true, ['sign', 'verify']);
  const notAfter = new Date(nowMs);
  notAfter.setUTCFullYear(notAfter.getUTCFullYear() + VALID_YEARS);
  const extensions: Extension[] = [
    new BasicConstraintsExtension(true, 0, true),
    new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    // Never valid for client certificates, even where it is trusted.
    new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
    await SubjectKeyIdentifierExtension.create(keys.publicKey),
  ];
  if (domain !== null) extensions.push(onlyDomain(domain));
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: newSerialNumber(),
    name: [{ CN: [commonName] }],
    notBefore: new Date(nowMs - BACKDATED_MS),
    notAfter,
    keys,
    signingAlgorithm: SIGNATURE_ALGORITHM,
    extensions,
  });
  return {
    privateKeyPem: KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' }).toString(),
    certificatePem: `${certificate.toString('pem')}\n`,
  };
}

/** 127 random bits: positive and within the 20 bytes of RFC 5280 §4.1.2.2. */
export function newSerialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString('hex');
}

export function backdated(nowMs: number): Date {
  return new Date(nowMs - BACKDATED_MS);
}

function broken(cause?: unknown): Error {
  const message = 'cannot read the internal CA in the store: restore the store from a backup';
  return pkiErrors.create('ERR_POSTERN_INTERNAL_CA', message, { cause });
}
