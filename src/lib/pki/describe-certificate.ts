import { X509Certificate } from 'node:crypto';
import { alternativeNames } from './alternative-names.ts';
import { countElements } from './count-elements.ts';
import { DER, DerCursor, DerProblem } from './der-cursor.ts';
import { type NameFields, nameFields } from './distinguished-name.ts';
import { dottedOid } from './object-identifier.ts';
import { derOf, pemBlocks } from './pem-blocks.ts';

export interface CertificateDescription {
  readonly isCa: boolean;
  readonly subject: NameFields;
  readonly issuerCommonName: string;
  readonly notBefore: string;
  readonly notAfter: string;
  readonly serialNumber: string;
  readonly keyUsages: readonly string[];
  readonly extendedKeyUsages: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ips: readonly string[];
  readonly keyType: string;
}

/** RFC 5280 §4.2.1.3, from bit 0. */
const KEY_USAGE_NAMES: readonly string[] = [
  'digital_signature',
  'content_commitment',
  'key_encipherment',
  'data_encipherment',
  'key_agreement',
  'cert_sign',
  'crl_sign',
  'encipher_only',
  'decipher_only',
];

/** By the contents of their OID, in hex. */
const EXTENDED_KEY_USAGE_NAMES: ReadonlyMap<string, string> = new Map([
  ['551d2500', 'any'],
  ['2b06010505070301', 'server_auth'],
  ['2b06010505070302', 'client_auth'],
  ['2b06010505070303', 'code_signing'],
  ['2b06010505070304', 'email_protection'],
  ['2b06010505070308', 'time_stamping'],
  ['2b06010505070309', 'ocsp_signing'],
]);

/** Extensions by the contents of their OID, in hex. */
const OID = { keyUsage: '551d0f', alternativeNames: '551d11', basicConstraints: '551d13', extendedKeyUsage: '551d25' };

/** Far above the length of any real chain. */
const MAX_CERTIFICATES = 100;
/**
 * In all certificates of a text. A real one has about 100, and one more for each name. OpenSSL takes 95 ms for 60,000,
 * which have 180 KB.
 */
const MAX_ELEMENTS = 10_000;

/** The certificates in a PEM text, in order. Throws when the text is empty or contains anything else. */
export function certificatesIn(pem: string): readonly X509Certificate[] {
  const blocks = pemBlocks(pem, MAX_CERTIFICATES);
  if (blocks.length === 0) throw new Error('it contains no PEM block');
  const foreign = blocks.find(({ label }) => label !== 'CERTIFICATE')?.label.slice(0, 40);
  if (foreign !== undefined) throw new Error(`it contains a "${foreign}" block; only CERTIFICATE blocks are allowed`);
  let elements = 0;
  return blocks.map((block) => {
    const der = derOf(block);
    elements += inDer(() => countElements(der, MAX_ELEMENTS - elements));
    if (elements > MAX_ELEMENTS) throw new Error(`it has more than ${MAX_ELEMENTS} names and other elements`);
    return new X509Certificate(der);
  });
}

/**
 * By hand: the ASN.1 library took 350 ms for a certificate with 1,000 names, which has 20 KB, and strangers send them.
 * Throws for a certificate that OpenSSL reads and that is not DER.
 */
export function describeCertificate(certificate: X509Certificate): CertificateDescription {
  return inDer(() => describe(certificate));
}

function inDer<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw error instanceof DerProblem ? new Error(`it cannot be decoded: a certificate ${error.message}`) : error;
  }
}

function describe(certificate: X509Certificate): CertificateDescription {
  const fields = new DerCursor(certificate.raw).read(DER.sequence).inside().read(DER.sequence).inside();
  if (fields.nextTag === 0xa0) fields.read(0xa0);
  const serial = fields.read(DER.integer).contents;
  fields.read(DER.sequence);
  const issuer = fields.read(DER.sequence).element;
  fields.read(DER.sequence);
  const subject = fields.read(DER.sequence).element;
  const extensions = extensionsIn(fields);
  const names = extensions.get(OID.alternativeNames);
  const constraints = extensions.get(OID.basicConstraints);
  return {
    isCa: constraints !== undefined && isCa(constraints),
    subject: nameFields(subject),
    issuerCommonName: nameFields(issuer).commonName,
    notBefore: certificate.validFromDate.toISOString(),
    notAfter: certificate.validToDate.toISOString(),
    serialNumber: serialText(serial),
    keyUsages: keyUsages(extensions.get(OID.keyUsage)),
    extendedKeyUsages: extendedKeyUsages(extensions.get(OID.extendedKeyUsage)),
    ...(names === undefined ? { dnsNames: [], ips: [] } : alternativeNames(names)),
    keyType: certificate.publicKey.asymmetricKeyType ?? 'unknown',
  };
}

/** `fields` stands after the subject. The first of each kind counts. */
function extensionsIn(fields: DerCursor): ReadonlyMap<string, Buffer> {
  const found = new Map<string, Buffer>();
  while (!fields.isAtEnd) {
    const tag = fields.nextTag;
    fields.read(tag);
    if (tag !== 0xa3) continue;
    const extensions = fields.inside().read(DER.sequence).inside();
    while (!extensions.isAtEnd) {
      const extension = extensions.read(DER.sequence).inside();
      const oid = extension.read(DER.oid).contents.toString('hex');
      if (extension.nextTag === DER.boolean) extension.read(DER.boolean);
      const value = extension.read(DER.octetString).contents;
      if (!found.has(oid)) found.set(oid, value);
    }
  }
  return found;
}

/** RFC 5280 §4.2.1.9: cA is false unless it is there. */
function isCa(value: Buffer): boolean {
  const constraints = new DerCursor(value).read(DER.sequence).inside();
  return constraints.nextTag === DER.boolean && (constraints.read(DER.boolean).contents[0] ?? 0) !== 0;
}

/** Without the octet that keeps a number positive. */
function serialText(contents: Buffer): string {
  const isPadded = contents.length > 1 && contents[0] === 0 && (contents[1] as number) > 0x7f;
  return contents.subarray(isPadded ? 1 : 0).toString('hex');
}

function keyUsages(value: Buffer | undefined): readonly string[] {
  if (value === undefined) return [];
  const bits = new DerCursor(value).read(DER.bitString).contents;
  return KEY_USAGE_NAMES.filter((_, at) => ((bits[1 + (at >> 3)] ?? 0) & (0x80 >> (at & 7))) !== 0);
}

function extendedKeyUsages(value: Buffer | undefined): readonly string[] {
  if (value === undefined) return [];
  const usages: string[] = [];
  const oids = new DerCursor(value).read(DER.sequence).inside();
  while (!oids.isAtEnd) {
    const oid = oids.read(DER.oid).contents.toString('hex');
    usages.push(EXTENDED_KEY_USAGE_NAMES.get(oid) ?? dottedOid(oid));
  }
  return usages;
}
