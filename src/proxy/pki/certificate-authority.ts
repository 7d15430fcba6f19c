import 'reflect-metadata';
import { X509Certificate as CryptoCertificate, createPrivateKey, KeyObject, randomBytes, webcrypto } from 'node:crypto';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { pkiErrors } from './errors.ts';
import {
  type AuthorityLog,
  type AuthorityPair,
  type AuthorityRecords,
  publishCertificate,
} from './internal-ca-places.ts';

// @peculiar/x509 requires this before it is loaded.

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

// @peculiar/x509 requires this before it is loaded.

const NAME_CONSTRAINTS_OID = '2.5.29.30';
const SEQUENCE = 0x30;
const PERMITTED_SUBTREES = 0xa0;
const EXCLUDED_SUBTREES = 0xa1;
const DNS_NAME = 0x82;
const IP_ADDRESS = 0x87;
/** Address and mask of zeros: every IPv4 address, every IPv6 address. */
const ALL_IPV4 = Buffer.alloc(8);
const ALL_IPV6 = Buffer.alloc(32);

/**
 * RFC 5280 §4.2.1.10, for which the X.509 library has no class: only names under `domain`, and no IP address at all.
 * The exclusion matters: a name form that no constraint mentions is unrestricted.
 */
function onlyDomain(domain: string): Extension {
  const permitted = der(PERMITTED_SUBTREES, subtree(DNS_NAME, Buffer.from(domain, 'ascii')));
  const excluded = der(EXCLUDED_SUBTREES, subtree(IP_ADDRESS, ALL_IPV4), subtree(IP_ADDRESS, ALL_IPV6));
  return new Extension(NAME_CONSTRAINTS_OID, true, new Uint8Array(der(SEQUENCE, permitted, excluded)));
}

function subtree(tag: number, value: Buffer): Buffer {
  return der(SEQUENCE, der(tag, value));
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  // A domain name has at most 253 bytes, so a length never needs more than two bytes.
  const length =
    content.length < 0x80
      ? [content.length]
      : content.length < 0x100
        ? [0x81, content.length]
        : [0x82, content.length >> 8, content.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}
