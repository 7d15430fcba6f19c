// @peculiar/x509 requires this before it is loaded.
import 'reflect-metadata';
import { KeyObject, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { Clock } from '../../kit/clock.ts';
import {
  type AuthorityRequest,
  backdated,
  type CertificateAuthority,
  KEY_ALGORITHM,
  newSerialNumber,
  openCertificateAuthority,
  SIGNATURE_ALGORITHM,
} from './certificate-authority.ts';
import { type AuthorityLog, type AuthorityRecords, internalCaPlaces } from './internal-ca-places.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

export interface LeafCertificateRequest {
  readonly hosts: readonly string[];
  readonly ips: readonly string[];
  readonly days: number;
}

export interface LeafCertificate {
  /** The leaf, then its CA. */
  readonly certificatePem: string;
  readonly privateKeyPem: string;
  readonly notAfterMs: number;
  /** The CA that a client must trust. */
  readonly caPem: string;
}

export interface InternalCa {
  /** Valid for the domain only: users are asked to trust this one. */
  readonly domainCaPem: string;
  /** Valid for any name; only the client at hand is asked to trust it. */
  readonly otherCaPem: string;
  mintLeaf(request: LeafCertificateRequest): Promise<LeafCertificate>;
}

export interface InternalCaOptions {
  readonly records: AuthorityRecords;
  readonly log: AuthorityLog;
  readonly dataDir: string;
  readonly domain: string;
  readonly clock: Clock;
}

/** Two CAs: trusting the one for the domain must not let Postern's host impersonate the rest of the web. */
export async function openInternalCa({ dataDir, domain, clock, records, log }: InternalCaOptions): Promise<InternalCa> {
  const places = internalCaPlaces(dataDir, domain);
  const nowMs = clock.nowMs();
  const open = (request: AuthorityRequest) => openCertificateAuthority(request, records, log);
  const domainCa = await open({
    ...places.domain,
    commonName: `Postern internal CA for ${domain}`.slice(0, 64),
    domain,
    nowMs,
  });
  const otherCa = await open({
    ...places.other,
    commonName: 'Postern internal CA for other hosts',
    domain: null,
    nowMs,
  });
  return {
    domainCaPem: domainCa.certificatePem,
    otherCaPem: otherCa.certificatePem,
    mintLeaf: (request) => mintLeaf(isWithin(domain, request) ? domainCa : otherCa, request, clock.nowMs()),
  };
}

function isWithin(domain: string, { hosts, ips }: LeafCertificateRequest): boolean {
  return ips.length === 0 && hosts.every((host) => host === domain || host.endsWith(`.${domain}`));
}

async function mintLeaf(
  ca: CertificateAuthority,
  { hosts, ips, days }: LeafCertificateRequest,
  nowMs: number,
): Promise<LeafCertificate> {
  const keys = await webcrypto.subtle.generateKey(KEY_ALGORITHM, true, ['sign', 'verify']);
  const notAfterMs = Math.min(nowMs + days * DAY_MS, ca.certificate.notAfter.getTime());
  const certificate = await X509CertificateGenerator.create({
    serialNumber: newSerialNumber(),
    // The names are in the subject alternative names; a common name is limited to 64 characters, a host is not.
    subject: [{ CN: [(hosts[0] ?? ips[0] ?? 'postern').slice(0, 64)] }],
    issuer: ca.certificate.subject,
    notBefore: backdated(nowMs),
    notAfter: new Date(notAfterMs),
    publicKey: keys.publicKey,
    signingKey: ca.privateKey,
    signingAlgorithm: SIGNATURE_ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension([
        ...hosts.map((value) => ({ type: 'dns', value }) as const),
        ...ips.filter((value) => isIP(value) !== 0).map((value) => ({ type: 'ip', value }) as const),
      ]),
      await AuthorityKeyIdentifierExtension.create(ca.certificate.publicKey),
    ],
  });
  return {
    certificatePem: `${certificate.toString('pem')}\n${ca.certificatePem}`,
    privateKeyPem: KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' }).toString(),
    notAfterMs,
    caPem: ca.certificatePem,
  };
}
