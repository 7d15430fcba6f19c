import type { X509Certificate } from 'node:crypto';
import { DER, DerCursor } from '../der-cursor.ts';
import { distributionPointNames } from './list-extensions.ts';

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
