// @peculiar/x509 requires this before it is loaded.
import 'reflect-metadata';
import { X509Certificate as CryptoCertificate, createPrivateKey, KeyObject, webcrypto } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { KEY_ALGORITHM, newSerialNumber, SIGNATURE_ALGORITHM } from './certificate-authority.ts';
import { NODE_URI } from './certified-node.ts';
import { pkiErrors } from './errors.ts';
import type { AuthorityLog, AuthorityPair, AuthorityRecords } from './internal-ca-places.ts';

const ID = 'peers';
const DAY_MS = 24 * 60 * 60 * 1000;
const AUTHORITY_DAYS = 30 * 365;
const NODE_DAYS = 2;
/** Clocks of nodes may differ by hours: `postern doctor` reports it, and links must work until then. */
const BACKDATED_DAYS = 1;
const BOTH_ENDS = [ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth];

export interface NodeCertificate {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
  readonly notAfterMs: number;
}

/** The authority that only nodes trust, and only for each other. */
export interface PeerAuthority {
  readonly caPem: string;
  mint(nodeId: string, nowMs: number): Promise<NodeCertificate>;
}

/** Reads the authority from the store, or creates it. Nodes that start at the same time end up with the same one. */
export async function openPeerAuthority(
  records: AuthorityRecords,
  log: AuthorityLog,
  nowMs: number,
): Promise<PeerAuthority> {
  const known = records.get(ID);
  if (known !== null) return opened(known);
  const pair = await newAuthority(nowMs);
  await records.add(ID, pair);
  // Read back, because another node may have added one first.
  const added = records.get(ID);
  if (added === null) throw broken();
  if (added.certificatePem === pair.certificatePem) log.info({}, 'created the authority of peer certificates');
  return opened(added);
}

async function opened({ certificatePem, privateKeyPem }: AuthorityPair): Promise<PeerAuthority> {
  try {
    // OpenSSL parses the PEM. The library's PEM parser takes exponential time for some texts, so it gets DER only.
    const found = new CryptoCertificate(certificatePem);
    const key = createPrivateKey(privateKeyPem);
    if (!found.checkPrivateKey(key)) throw broken();
    const keyDer = key.export({ type: 'pkcs8', format: 'der' });
    const signingKey = await webcrypto.subtle.importKey('pkcs8', keyDer, KEY_ALGORITHM, false, ['sign']);
    const authority = new X509Certificate(found.raw);
    return { caPem: certificatePem, mint: (nodeId, nowMs) => mint(authority, signingKey, nodeId, nowMs) };
  } catch (cause) {
    throw broken(cause);
  }
}

async function newAuthority(nowMs: number): Promise<AuthorityPair> {
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: newSerialNumber(),
    name: [{ CN: ['Postern peer authority'] }],
    ...validity(nowMs, AUTHORITY_DAYS),
    keys,
    signingAlgorithm: SIGNATURE_ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      new ExtendedKeyUsageExtension(BOTH_ENDS),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificatePem: `${certificate.toString('pem')}\n`, privateKeyPem: pemOf(keys.privateKey) };
}

async function mint(
  authority: X509Certificate,
  signingKey: webcrypto.CryptoKey,
  nodeId: string,
  nowMs: number,
): Promise<NodeCertificate> {
  const keys = await newKeys();
  const times = validity(nowMs, NODE_DAYS);
  const certificate = await X509CertificateGenerator.create({
    serialNumber: newSerialNumber(),
    subject: [{ CN: [nodeId] }],
    issuer: authority.subject,
    ...times,
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: SIGNATURE_ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension(BOTH_ENDS),
      // A URI, because host names have neither underscores nor upper case.
      new SubjectAlternativeNameExtension([{ type: 'url', value: `${NODE_URI}${nodeId}` }]),
      await AuthorityKeyIdentifierExtension.create(authority.publicKey),
    ],
  });
  return {
    certificatePem: `${certificate.toString('pem')}\n`,
    privateKeyPem: pemOf(keys.privateKey),
    notAfterMs: times.notAfter.getTime(),
  };
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(KEY_ALGORITHM, true, ['sign', 'verify']);
}

function pemOf(key: webcrypto.CryptoKey): string {
  return KeyObject.from(key).export({ type: 'pkcs8', format: 'pem' }).toString();
}

function validity(nowMs: number, days: number): { readonly notBefore: Date; readonly notAfter: Date } {
  return { notBefore: new Date(nowMs - BACKDATED_DAYS * DAY_MS), notAfter: new Date(nowMs + days * DAY_MS) };
}

function broken(cause?: unknown): Error {
  const message = 'cannot read the authority of peer certificates in the store: restore the database from a backup';
  return pkiErrors.create('ERR_POSTERN_INTERNAL_CA', message, { cause });
}
