import 'node:tls';
import { X509Certificate } from 'node:crypto';
import { DER, DerCursor, DerProblem, dottedOid } from './der-cursor.ts';
import { derOf, pemBlocks } from './pem-blocks.ts';

const DNS_NAME = 0x82;
const IP_ADDRESS = 0x87;

/** Host names and addresses in a subject alternative name (RFC 5280 §4.2.1.6). */
function alternativeNames(value: Buffer): {
  readonly dnsNames: readonly string[];
  readonly ips: readonly string[];
} {
  const dnsNames: string[] = [];
  const ips: string[] = [];
  const names = new DerCursor(value).read(DER.sequence).inside();
  while (!names.isAtEnd) {
    const tag = names.nextTag;
    names.read(tag);
    if (tag === DNS_NAME) dnsNames.push(value.toString('latin1', names.from, names.to));
    if (tag === IP_ADDRESS) ips.push(addressText(names.contents));
  }
  return { dnsNames, ips };
}

function addressText(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  return bytes.length === 16 ? ipv6Text(bytes) : bytes.toString('hex');
}

/** RFC 5952 §4.2: the first of the longest runs of zeros becomes "::". The parser of URLs took 60 ms for 10,000. */
function ipv6Text(bytes: Buffer): string {
  const groups: string[] = [];
  let longest = { from: 0, length: 1 };
  let zeros = 0;
  for (let at = 0; at < 8; at += 1) {
    const group = bytes.readUInt16BE(2 * at);
    groups.push(group.toString(16));
    zeros = group === 0 ? zeros + 1 : 0;
    if (zeros > longest.length) longest = { from: at + 1 - zeros, length: zeros };
  }
  if (longest.length === 1) return groups.join(':');
  return `${groups.slice(0, longest.from).join(':')}::${groups.slice(longest.from + longest.length).join(':')}`;
}

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

/** Set in the tag of an element that consists of elements. */
const CONSTRUCTED = 0x20;

/**
 * Number of DER elements, at every depth and in octet strings too, as those of extensions. Stops above `limit`. Flat:
 * recursion would overflow the stack at 40,000 levels, which have 160 KB. Throws DerProblem.
 */
export function countElements(bytes: Buffer, limit: number): number {
  const cursor = new DerCursor(bytes);
  let count = 0;
  while (count <= limit) {
    const isInOctets = cursor.end < bytes.length;
    if (cursor.isAtEnd) {
      if (!isInOctets) break;
      cursor.end = bytes.length;
      continue;
    }
    try {
      const tag = cursor.nextTag;
      cursor.read(tag);
      count += 1;
      const isNested = !isInOctets && tag === DER.octetString && bytes[cursor.from] === DER.sequence;
      if (isNested) cursor.end = cursor.to;
      if (isNested || (tag & CONSTRUCTED) !== 0) cursor.at = cursor.from;
    } catch (error) {
      // The contents of an octet string may be anything.
      if (!(error instanceof DerProblem) || !isInOctets) throw error;
      cursor.at = cursor.end;
    }
  }
  return count;
}

export interface NameFields {
  readonly commonName: string;
  readonly organization: string;
  readonly organizationalUnit: string;
  readonly locality: string;
  readonly province: string;
  readonly country: string;
}

/** Attribute types by the contents of their OID, in hex: RFC 5280 §4.1.2.4. */
const FIELDS: ReadonlyMap<string, keyof NameFields> = new Map([
  ['550403', 'commonName'],
  ['550406', 'country'],
  ['550407', 'locality'],
  ['550408', 'province'],
  ['55040a', 'organization'],
  ['55040b', 'organizationalUnit'],
]);

const STRING = { utf8: 0x0c, numeric: 0x12, printable: 0x13, teletex: 0x14, ia5: 0x16, universal: 0x1c, bmp: 0x1e };

/** The first value of each field. */
function nameFields(name: Buffer): NameFields {
  const found: { -readonly [Field in keyof NameFields]?: string } = {};
  const parts = new DerCursor(name).read(DER.sequence).inside();
  while (!parts.isAtEnd) {
    const attributes = parts.read(DER.set).inside();
    while (!attributes.isAtEnd) {
      const attribute = attributes.read(DER.sequence).inside();
      const field = FIELDS.get(attribute.read(DER.oid).contents.toString('hex'));
      if (field !== undefined) found[field] ??= textOf(attribute.read(attribute.nextTag));
    }
  }
  const { commonName = '', organization = '', organizationalUnit = '', locality = '' } = found;
  return {
    commonName,
    organization,
    organizationalUnit,
    locality,
    province: found.province ?? '',
    country: found.country ?? '',
  };
}

/** X.520 DirectoryString, and the types that other attributes have. */
function textOf({ tag, contents }: DerCursor): string {
  switch (tag) {
    case STRING.utf8:
      return contents.toString('utf8');
    case STRING.printable:
    case STRING.numeric:
    case STRING.ia5:
    case STRING.teletex:
      return contents.toString('latin1');
    case STRING.bmp:
      return contents.length % 2 === 0 ? Buffer.from(contents).swap16().toString('utf16le') : '';
    case STRING.universal:
      return universal(contents);
    default:
      return '';
  }
}

/** Four bytes for each character. */
function universal(contents: Buffer): string {
  let text = '';
  for (let at = 0; at + 4 <= contents.length; at += 4) {
    const point = contents.readUInt32BE(at);
    text += point <= 0x10_ff_ff ? String.fromCodePoint(point) : '\ufffd';
  }
  return text;
}

// Before the first call: a process that calls it without this module cannot open TLS connections afterwards (Node
// 26.10).

/** Subject and issuer as objects. */
export function legacyCertificate(certificate: X509Certificate): ReturnType<X509Certificate['toLegacyObject']> {
  return certificate.toLegacyObject();
}
