import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { Extension, X509Certificate, type X509CrlCreateParams, X509CrlGenerator } from '@peculiar/x509';
import { DAY_MS, type Issued } from '../edge/tls/test-authority.ts';

export interface CrlRequest {
  readonly issuer: Issued;
  readonly revoked?: readonly Issued[];
  /** Null: none. */
  readonly number?: number | null;
  readonly fromMs?: number;
  /** Relative to now, like `fromMs`. */
  readonly toMs?: number | null;
  /** Signed by this key instead of the issuer's. */
  readonly signer?: Issued;
  readonly extensions?: readonly Extension[];
}

/** A revocation list as the test requests it, by default valid from an hour ago for a day. */
export async function crl(request: CrlRequest): Promise<{ readonly pem: string; readonly der: Buffer }> {
  const { issuer, revoked = [], number = 1, fromMs = -3_600_000, toMs = DAY_MS, signer = issuer } = request;
  const params = {
    issuer: new X509Certificate(issuer.certificatePem).subject,
    thisUpdate: new Date(Date.now() + fromMs),
    ...(toMs !== null && { nextUpdate: new Date(Date.now() + toMs) }),
    entries: revoked.map((each) => ({
      serialNumber: new X509Certificate(each.certificatePem).serialNumber,
      revocationDate: new Date(),
    })),
    extensions: [...(number === null ? [] : [crlNumber(number)]), ...(request.extensions ?? [])],
    signingKey: signer.keys.privateKey,
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
  } as unknown as X509CrlCreateParams;
  const made = await X509CrlGenerator.create(params, webcrypto as never);
  return { pem: `${made.toString('pem')}\n`, der: Buffer.from(made.rawData) };
}

function crlNumber(number: number): Extension {
  const hex = number.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  const value = (bytes[0] as number) >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes;
  return new Extension('2.5.29.20', false, Buffer.concat([Buffer.from([0x02, value.length]), value]));
}

/** RFC 5280 §5.2.4: only the changes since list 1. */
export const DELTA = new Extension('2.5.29.27', true, Buffer.from([0x02, 0x01, 0x01]));

/** IssuingDistributionPoint with one of its BOOLEAN fields set. */
export function scope(field: 'onlyUser' | 'onlyCa' | 'indirect' | 'onlyAttribute'): Extension {
  const tag = { onlyUser: 0x81, onlyCa: 0x82, indirect: 0x84, onlyAttribute: 0x85 }[field];
  return new Extension('2.5.29.28', true, Buffer.from([0x30, 0x03, tag, 0x01, 0xff]));
}

/** IssuingDistributionPoint that names where the list is published. */
export function publishedAt(url: string): Extension {
  const name = element(0x86, Buffer.from(url));
  return new Extension('2.5.29.28', true, element(0x30, element(0xa0, element(0xa0, name))));
}

export function element(tag: number, contents: Buffer): Buffer {
  const { length } = contents;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), contents]);
}

/** IssuingDistributionPoint with onlySomeReasons. */
export const SOME_REASONS = new Extension('2.5.29.28', true, element(0x30, element(0x83, Buffer.from([0x01, 0x40]))));

export const UNKNOWN_CRITICAL = new Extension('1.3.6.1.4.1.99999.1', true, Buffer.from([0x05, 0x00]));

/** An entry whose serial number is 16 bytes long, of which the second to fifth are set for each. */
const ENTRY = element(
  0x30,
  Buffer.concat([element(0x02, Buffer.alloc(16, 0x41)), element(0x17, Buffer.from('251101000000Z'))]),
);

/**
 * A list with this many entries, too large for the library to build in reasonable time. They revoke nobody, except
 * `revoked`.
 */
export async function hugeCrl(issuer: Issued, entries: number, revoked: readonly Issued[] = []): Promise<Buffer> {
  const small = await crl({ issuer, revoked });
  // TBSCertList of the small list, with entries inserted before its extensions.
  const outer = parts(contentsOf(small.der));
  const fields = parts(contentsOf(outer[0] as Buffer));
  const at = revoked.length === 0 ? fields.length - 1 : fields.findLastIndex((field) => field[0] === 0x30);
  const own = revoked.length === 0 ? Buffer.alloc(0) : contentsOf(fields[at] as Buffer);
  const made = Buffer.alloc(entries * ENTRY.length);
  for (let count = 0; count < entries; count += 1) {
    ENTRY.copy(made, count * ENTRY.length);
    made.writeUInt32BE(count, count * ENTRY.length + 5);
  }
  fields.splice(at, revoked.length === 0 ? 0 : 1, long(0x30, Buffer.concat([own, made])));
  const signed = long(0x30, Buffer.concat(fields));
  const raw = Buffer.from(
    await webcrypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, issuer.keys.privateKey, new Uint8Array(signed)),
  );
  const signature = element(
    0x30,
    Buffer.concat([raw.subarray(0, 32), raw.subarray(32)].map((half) => element(0x02, positive(half)))),
  );
  const bits = element(0x03, Buffer.concat([Buffer.from([0]), signature]));
  return long(0x30, Buffer.concat([signed, outer[1] as Buffer, bits]));
}

export function long(tag: number, contents: Buffer): Buffer {
  if (contents.length < 0x10000) return element(tag, contents);
  const size = Buffer.alloc(4);
  size.writeUInt32BE(contents.length);
  const used = size.subarray(size.findIndex((byte) => byte !== 0));
  return Buffer.concat([Buffer.from([tag, 0x80 + used.length]), used, contents]);
}

function positive(half: Buffer): Buffer {
  let from = 0;
  while (from < half.length - 1 && half[from] === 0) from += 1;
  const bytes = half.subarray(from);
  return (bytes[0] as number) >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes;
}

function headerLength(bytes: Buffer): number {
  const first = bytes[1] as number;
  return first < 0x80 ? 2 : 2 + (first - 0x80);
}

function totalLength(bytes: Buffer): number {
  const first = bytes[1] as number;
  return headerLength(bytes) + (first < 0x80 ? first : bytes.readUIntBE(2, first - 0x80));
}

export function contentsOf(bytes: Buffer): Buffer {
  return bytes.subarray(headerLength(bytes), totalLength(bytes));
}

function parts(contents: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < contents.length; ) {
    const length = totalLength(contents.subarray(at));
    found.push(contents.subarray(at, at + length));
    at += length;
  }
  return found;
}
