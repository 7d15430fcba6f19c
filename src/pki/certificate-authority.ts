// @peculiar/x509 needs it to be there before its first line runs.
import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { createDirectoryDurably } from '../lib/durable-file.ts';
import { pkiErrors } from './errors.ts';
import { CERTIFICATE_FILE } from './internal-ca-places.ts';
import { onlyDomain } from './name-constraints.ts';

const KEY_FILE = 'key.pem';
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
  /** Holds certificate and key; made if absent. */
  readonly directory: string;
  readonly commonName: string;
  /** The only domain that the CA may vouch for; null for any name and address. */
  readonly domain: string | null;
  readonly nowMs: number;
}

/** Reads the CA, or makes it: once, all or nothing, so that a crash in between never leaves half of one. */
export async function openCertificateAuthority(request: AuthorityRequest): Promise<CertificateAuthority> {
  const existing = await readAuthority(request.directory);
  if (existing !== null) return existing;
  await mkdir(dirname(request.directory), { recursive: true, mode: 0o700 });
  await createDirectoryDurably(request.directory, await newAuthority(request));
  // Read back also what another process made first.
  const made = await readAuthority(request.directory);
  if (made === null) throw broken(request.directory);
  return made;
}

async function readAuthority(directory: string): Promise<CertificateAuthority | null> {
  let certificatePem: string;
  try {
    certificatePem = await readFile(join(directory, CERTIFICATE_FILE), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
  try {
    const keyDer = PemConverter.decodeFirst(await readFile(join(directory, KEY_FILE), 'utf8'));
    const privateKey = await webcrypto.subtle.importKey('pkcs8', keyDer, KEY_ALGORITHM, false, ['sign']);
    return { certificate: new X509Certificate(certificatePem), certificatePem, privateKey };
  } catch (cause) {
    throw broken(directory, cause);
  }
}

async function newAuthority({ commonName, domain, nowMs }: AuthorityRequest) {
  const keys = await webcrypto.subtle.generateKey(KEY_ALGORITHM, true, ['sign', 'verify']);
  const notAfter = new Date(nowMs);
  notAfter.setUTCFullYear(notAfter.getUTCFullYear() + VALID_YEARS);
  const extensions: Extension[] = [
    new BasicConstraintsExtension(true, 0, true),
    new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    // Never good for client certificates, whoever may be told to trust it.
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
  const keyDer = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return {
    [KEY_FILE]: { text: `${PemConverter.encode(keyDer, 'PRIVATE KEY')}\n`, mode: 0o600 },
    [CERTIFICATE_FILE]: { text: `${certificate.toString('pem')}\n`, mode: 0o644 },
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

function broken(directory: string, cause?: unknown): Error {
  const message = `the internal CA in ${directory} cannot be read: restore its files, or remove the directory to have a new CA made`;
  return pkiErrors.create('ERR_POSTERN_INTERNAL_CA', message, { cause });
}
