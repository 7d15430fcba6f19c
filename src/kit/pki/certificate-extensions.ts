import type { X509Certificate } from 'node:crypto';
import { DER, DerCursor, dottedOid } from './der-cursor.ts';

/** Why a revocation list cannot be used, as the rest of a sentence: "is an indirect list: …". */
export class ListProblem extends Error {}

/** Extensions by the contents of their OID, in hex: RFC 5280 §5.2. */
const OID = {
  crlNumber: '551d14',
  deltaCrlIndicator: '551d1b',
  issuingDistributionPoint: '551d1c',
  certificateIssuer: '551d1d',
} as const;

/** Extensions of an entry that change nothing about it being revoked: reason, hold instruction, invalidity date. */
const HARMLESS_IN_ENTRY: ReadonlySet<string> = new Set(['551d15', '551d17', '551d18']);

/**
 * Elements are read without a pause, before the signature is checked: 16 MB of them would block everything for seconds.
 */
const MAX_ELEMENTS = 64;

export interface ListScope {
  /** Kind of certificates that the list covers. */
  readonly covers: 'all' | 'user' | 'ca';
  /** GeneralNames of which a certificate must name one as its distribution point; null: all certificates. */
  readonly distributionPoints: readonly Buffer[] | null;
}

export interface ListExtensions extends ListScope {
  readonly number: bigint | null;
  readonly isDelta: boolean;
}

export const NO_EXTENSIONS: ListExtensions = { number: null, isDelta: false, covers: 'all', distributionPoints: null };

export function readListExtensions(list: DerCursor): ListExtensions {
  let found = NO_EXTENSIONS;
  const seen = new Set<string>();
  eachExtension(list, (oid, isCritical, value) => {
    if (seen.has(oid)) throw new ListProblem('has an extension twice');
    seen.add(oid);
    if (oid === OID.crlNumber) found = { ...found, number: numberIn(value) };
    else if (oid === OID.deltaCrlIndicator) found = { ...found, isDelta: true };
    else if (oid === OID.issuingDistributionPoint) found = { ...found, ...scopeIn(value) };
    // RFC 5280 §5.2: such a list must not be used to decide anything.
    else if (isCritical) throw new ListProblem(`has a critical extension that is not supported (${dottedOid(oid)})`);
  });
  return found;
}

/** Throws for an entry that cannot be understood: the list as a whole could then say anything. */
export function checkEntryExtensions(entry: DerCursor): void {
  eachExtension(entry, (oid, isCritical) => {
    if (oid === OID.certificateIssuer) throw new ListProblem(INDIRECT);
    if (isCritical && !HARMLESS_IN_ENTRY.has(oid)) {
      throw new ListProblem(`has an entry with a critical extension that is not supported (${dottedOid(oid)})`);
    }
  });
}

const INDIRECT =
  'is an indirect list, which contains certificates of other issuers: publish a list for each issuer, signed by that issuer';

/** `cursor` stands before the SEQUENCE of extensions. */
function eachExtension(cursor: DerCursor, visit: (oid: string, isCritical: boolean, value: DerCursor) => void): void {
  const extensions = cursor.read(DER.sequence).inside();
  for (let count = 1; !extensions.isAtEnd; count += 1) {
    if (count > MAX_ELEMENTS) throw new ListProblem(`has more than ${MAX_ELEMENTS} extensions in one place`);
    const extension = extensions.read(DER.sequence).inside();
    const oid = extension.read(DER.oid).contents.toString('hex');
    const isCritical = extension.nextTag === DER.boolean && extension.read(DER.boolean).contents[0] !== 0;
    extension.read(DER.octetString);
    visit(oid, isCritical, extension.inside());
    extension.expectEnd();
  }
}

/** RFC 5280 §5.2.3: at most 20 octets. */
function numberIn(value: DerCursor): bigint {
  const { contents } = value.read(DER.integer);
  value.expectEnd();
  if (contents.length === 0 || contents.length > 21 || (contents[0] as number) >= 0x80) {
    throw new ListProblem('has a number that is not a positive integer of at most 20 bytes');
  }
  return BigInt(`0x${contents.toString('hex')}`);
}

/** RFC 5280 §5.2.5. The tags are those of the fields [0] to [5]. */
function scopeIn(value: DerCursor): ListScope {
  const point = value.read(DER.sequence).inside();
  value.expectEnd();
  let distributionPoints: readonly Buffer[] | null = null;
  let covers: ListScope['covers'] = 'all';
  while (!point.isAtEnd) {
    const tag = point.nextTag;
    point.read(tag);
    const isSet = point.contents[0] !== 0;
    if (tag === 0xa0) distributionPoints = fullNames(point.inside());
    else if (tag === 0x83) {
      throw new ListProblem('covers only some reasons for revocation: publish a list with all reasons');
    } else if (tag === 0x81 || tag === 0x82) {
      if (isSet && covers !== 'all') throw new ListProblem('covers neither user nor CA certificates');
      if (isSet) covers = tag === 0x81 ? 'user' : 'ca';
    } else if (tag === 0x84 && isSet) throw new ListProblem(INDIRECT);
    else if (tag === 0x85 && isSet) throw new ListProblem('covers attribute certificates only');
    else if (tag !== 0x84 && tag !== 0x85) throw new ListProblem('has a scope that is not supported');
  }
  return { covers, distributionPoints };
}

/** The names of a DistributionPointName: [0] fullName. A name relative to the issuer is hardly ever used. */
function fullNames(name: DerCursor): readonly Buffer[] {
  if (name.nextTag !== 0xa0) throw new ListProblem('has a relative distribution point, which is not supported');
  return elementsIn(name.read(0xa0).inside());
}

function elementsIn(cursor: DerCursor): readonly Buffer[] {
  const elements: Buffer[] = [];
  while (!cursor.isAtEnd) {
    if (elements.length === MAX_ELEMENTS) throw new ListProblem(`has more than ${MAX_ELEMENTS} names in one place`);
    elements.push(cursor.read(cursor.nextTag).element);
  }
  return elements;
}

/** The names of all distribution points of a certificate, from the value of its extension (RFC 5280 §4.2.1.13). */
function distributionPointNames(value: Buffer): readonly Buffer[] {
  const names: Buffer[] = [];
  const points = new DerCursor(value).read(DER.sequence).inside();
  while (!points.isAtEnd) {
    const point = points.read(DER.sequence).inside();
    if (point.nextTag !== 0xa0) continue;
    const name = point.read(0xa0).inside();
    if (name.nextTag === 0xa0) names.push(...elementsIn(name.read(0xa0).inside()));
  }
  return names;
}

/** Fields of a certificate that `node:crypto` does not show. */
export interface CertificateFields {
  /** Contents of the serial number's INTEGER. */
  readonly serial: Buffer;
  /** Name in DER. */
  readonly subject: Buffer;
  /** RFC 5280 §6.3.3 (f): a key usage without cRLSign forbids it. */
  readonly maySignLists: boolean;
  /** A key usage without digitalSignature and keyAgreement forbids the handshakes of a TLS client. */
  readonly mayShakeHands: boolean;
  /** How many authorities may come between it and the last certificate (RFC 5280 §4.2.1.9). */
  readonly maxPathLength: number;
  /** GeneralNames of its distribution points. */
  readonly distributionPoints: readonly Buffer[];
  /** Null: it has none. */
  readonly authorityKeyId: Buffer | null;
}

const KEY_USAGE = '551d0f';
const BASIC_CONSTRAINTS = '551d13';
const CRL_DISTRIBUTION_POINTS = '551d1f';
const AUTHORITY_KEY_ID = '551d23';
/** Bit 6, counted from the most significant. */
const CRL_SIGN = 0x02;
/** Bits 0 and 4. */
const HANDSHAKES = 0x88;
const KNOWN = new WeakMap<X509Certificate, CertificateFields>();

/** Throws DerProblem for a certificate that OpenSSL reads and that is not DER. */
export function fieldsOf(certificate: X509Certificate): CertificateFields {
  let fields = KNOWN.get(certificate);
  if (fields === undefined) {
    fields = readFields(certificate.raw);
    KNOWN.set(certificate, fields);
  }
  return fields;
}

function readFields(der: Buffer): CertificateFields {
  const fields = new DerCursor(der).read(DER.sequence).inside().read(DER.sequence).inside();
  if (fields.nextTag === 0xa0) fields.read(0xa0);
  const serial = fields.read(DER.integer).contents;
  // Signature algorithm, issuer, validity.
  for (let skipped = 0; skipped < 3; skipped += 1) fields.read(DER.sequence);
  const subject = fields.read(DER.sequence).element;
  fields.read(DER.sequence);
  let [maySignLists, mayShakeHands, maxPathLength] = [true, true, Number.POSITIVE_INFINITY];
  let distributionPoints: readonly Buffer[] = [];
  let authorityKeyId: Buffer | null = null;
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
      if (oid === KEY_USAGE) {
        maySignLists = ((value[3] ?? 0) & CRL_SIGN) !== 0;
        mayShakeHands = ((value[3] ?? 0) & HANDSHAKES) !== 0;
      }
      if (oid === BASIC_CONSTRAINTS) maxPathLength = pathLengthIn(value);
      if (oid === CRL_DISTRIBUTION_POINTS) distributionPoints = distributionPointNames(value);
      if (oid === AUTHORITY_KEY_ID) authorityKeyId = keyIdIn(value);
    }
  }
  return { serial, subject, maySignLists, mayShakeHands, maxPathLength, distributionPoints, authorityKeyId };
}

function pathLengthIn(value: Buffer): number {
  const fields = new DerCursor(value).read(DER.sequence).inside();
  if (fields.nextTag === DER.boolean) fields.read(DER.boolean);
  if (fields.nextTag !== DER.integer) return Number.POSITIVE_INFINITY;
  return Number.parseInt(fields.read(DER.integer).contents.toString('hex'), 16);
}

/** RFC 5280 §4.2.1.1: [0] keyIdentifier. */
function keyIdIn(value: Buffer): Buffer | null {
  const fields = new DerCursor(value).read(DER.sequence).inside();
  return fields.nextTag === 0x80 ? fields.read(0x80).contents : null;
}
