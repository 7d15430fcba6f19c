import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import {
  BasicConstraintsExtension,
  CRLDistributionPointsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' };
const SIGNING = { name: 'ECDSA', hash: 'SHA-256' };
export const DAY_MS = 86_400_000;

export interface Issued {
  readonly certificatePem: string;
  readonly keyPem: string;
  readonly keys: webcrypto.CryptoKeyPair;
}

export interface IssueRequest {
  readonly commonName: string;
  /** Absent: self-signed. */
  readonly issuer?: Issued;
  readonly isCa?: boolean;
  readonly usages?: readonly ('client' | 'server')[];
  readonly dnsNames?: readonly string[];
  readonly fromDays?: number;
  readonly toDays?: number;
  /** Whether an authority may sign revocation lists. */
  readonly maySignLists?: boolean;
  /** Whether a certificate may sign in handshakes, not only receive keys. */
  readonly mayShakeHands?: boolean;
  /** How many authorities may come below it. Absent: any number. */
  readonly pathLength?: number;
  /** Absent: new ones. */
  readonly keys?: webcrypto.CryptoKeyPair;
  /** Where its revocation list is published. */
  readonly crlUrl?: string;
}

/** A certificate as the test requests it, by default valid from yesterday for a month. */
export async function issue(request: IssueRequest): Promise<Issued> {
  const { commonName, issuer, isCa = false, usages = [], dnsNames = [], fromDays = -1, toDays = 30 } = request;
  const keys = request.keys ?? (await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']));
  const extensions: Extension[] = [new BasicConstraintsExtension(isCa, request.pathLength, true)];
  const listUsage = request.maySignLists === false ? 0 : KeyUsageFlags.cRLSign;
  const caUsages = KeyUsageFlags.keyCertSign | listUsage;
  const leafUsage = request.mayShakeHands === false ? KeyUsageFlags.keyEncipherment : KeyUsageFlags.digitalSignature;
  extensions.push(new KeyUsagesExtension(isCa ? caUsages : leafUsage, true));
  if (usages.length > 0) {
    const names = usages.map((usage) =>
      usage === 'client' ? ExtendedKeyUsage.clientAuth : ExtendedKeyUsage.serverAuth,
    );
    extensions.push(new ExtendedKeyUsageExtension(names));
  }
  if (dnsNames.length > 0) {
    extensions.push(new SubjectAlternativeNameExtension(dnsNames.map((value) => ({ type: 'dns' as const, value }))));
  }
  if (request.crlUrl !== undefined) extensions.push(new CRLDistributionPointsExtension([request.crlUrl]));
  const subject = [{ CN: [commonName] }];
  const certificate = await X509CertificateGenerator.create({
    serialNumber: `40${randomBytes(8).toString('hex')}`,
    subject,
    issuer: issuer === undefined ? subject : new X509Certificate(issuer.certificatePem).subject,
    notBefore: new Date(Date.now() + fromDays * DAY_MS),
    notAfter: new Date(Date.now() + toDays * DAY_MS),
    publicKey: keys.publicKey,
    signingKey: (issuer?.keys ?? keys).privateKey,
    signingAlgorithm: SIGNING,
    extensions,
  } as Parameters<typeof X509CertificateGenerator.create>[0]);
  const keyDer = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return {
    certificatePem: `${certificate.toString('pem')}\n`,
    keyPem: `${PemConverter.encode(keyDer, 'PRIVATE KEY')}\n`,
    keys,
  };
}

/** As POST /tls_certificates stores it. */
export function certificateRecord(id: string, issued: Issued, dnsNames: readonly string[]) {
  const certificate = new X509Certificate(issued.certificatePem);
  const usages = certificate.getExtension(ExtendedKeyUsageExtension)?.usages ?? [];
  return {
    kind: 'tls_certificate',
    id,
    revision: 1,
    doc: {
      certificate_pem: issued.certificatePem,
      subject_alternative_names: { dns_names: dnsNames, ips: [] },
      not_before: certificate.notBefore.toISOString(),
      not_after: certificate.notAfter.toISOString(),
      extended_key_usages: usages.map((usage) =>
        usage === ExtendedKeyUsage.clientAuth ? 'client_auth' : 'server_auth',
      ),
    },
    secrets: { '/private_key_pem': JSON.stringify(issued.keyPem) },
  };
}

/** As the ACME worker stores it. `doc` adds the fields of a job, which the edge must ignore. */
export function managedRecord(id: string, hostname: string, issued: Issued | null, doc: object = {}) {
  const certificate = issued === null ? null : new X509Certificate(issued.certificatePem);
  return {
    kind: 'managed_certificate',
    id,
    revision: 1,
    doc: {
      hostname,
      private_key_type: 'ecdsa',
      certificate_pem: issued?.certificatePem ?? null,
      serial_number: certificate?.serialNumber.toLowerCase() ?? null,
      not_before: certificate?.notBefore.toISOString() ?? null,
      not_after: certificate?.notAfter.toISOString() ?? null,
      job: null,
      ...doc,
    },
    secrets: issued === null ? null : { '/private_key': JSON.stringify(issued.keyPem) },
  };
}
