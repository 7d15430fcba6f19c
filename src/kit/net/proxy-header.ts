import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { parseWrittenAddress } from './cidr.ts';

/**
 * Reads a PROXY protocol header, version 1 or 2, from the first bytes of a connection
 * (https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt). Another protocol is refused at its first byte that
 * differs, and a header as soon as it is too long: at most 536 bytes are ever waited for.
 */
export function readProxyHeader(bytes: Buffer): HeaderReading {
  if (bytes.length === 0) return MORE;
  if (startsLike(bytes, VERSION_2_SIGNATURE)) return readVersion2(bytes);
  if (startsLike(bytes, VERSION_1_PREFIX)) return readVersion1(bytes);
  return refused('missing', 'the connection does not start with a PROXY header');
}

function startsLike(bytes: Buffer, prefix: Buffer): boolean {
  const length = Math.min(bytes.length, prefix.length);
  return bytes.compare(prefix, 0, length, 0, length) === 0;
}

/** Who connected to the proxy, as its header says. An IPv4 address inside IPv6 is written as IPv4. */
export interface ProxiedSource {
  readonly address: string;
  readonly port: number;
}

/**
 * Stable values for metrics and log. `missing`: the bytes are those of another protocol. `unsupported`: a command or a
 * kind of address that this version of the protocol does not have.
 */
export type HeaderProblem = 'missing' | 'malformed' | 'too_large' | 'unsupported' | 'checksum';

export type HeaderReading =
  | { readonly state: 'more' }
  /** `source` is null when the proxy speaks for itself or does not know: the connection's own address counts. */
  | { readonly state: 'done'; readonly source: ProxiedSource | null; readonly length: number }
  | { readonly state: 'refused'; readonly problem: HeaderProblem; readonly message: string };

export const MORE: HeaderReading = { state: 'more' };

function refused(problem: HeaderProblem, message: string): HeaderReading {
  return { state: 'refused', problem, message };
}

const VERSION_1_PREFIX = Buffer.from('PROXY ');

/** The longest line of the specification (§2.1): UNKNOWN with two full IPv6 addresses, and CRLF. */
const MAX_LINE_BYTES = 107;
const PORT = /^(?:0|[1-9]\d{0,4})$/;
const MAX_PORT = 65_535;

/** The text form. `bytes` starts with the prefix, or with a part of it. */
function readVersion1(bytes: Buffer): HeaderReading {
  const end = bytes.subarray(0, MAX_LINE_BYTES).indexOf('\r\n');
  if (end === -1) {
    return bytes.length < MAX_LINE_BYTES
      ? MORE
      : refused('too_large', `the line is longer than ${MAX_LINE_BYTES} bytes`);
  }
  const length = end + 2;
  const [, family, ...rest] = bytes.toString('latin1', 0, end).split(' ');
  // A receiver ignores everything after this word (§2.1).
  if (family === 'UNKNOWN') return { state: 'done', source: null, length };
  if (family !== 'TCP4' && family !== 'TCP6') return refused('malformed', 'the line names no known kind of address');
  const [source, destination, sourcePort, destinationPort] = rest;
  const from = endOf(family, source, sourcePort);
  const to = endOf(family, destination, destinationPort);
  if (from === null || to === null || rest.length !== 4)
    return refused('malformed', 'the line does not have two addresses and two ports');
  return { state: 'done', source: from, length };
}

function endOf(family: 'TCP4' | 'TCP6', address = '', port = ''): ProxiedSource | null {
  const parsed = isIPv4(address) === (family === 'TCP4') ? parseWrittenAddress(address) : null;
  if (parsed === null || !PORT.test(port) || Number(port) > MAX_PORT) return null;
  return { address: parsed.toString(), port: Number(port) };
}

const VERSION_2_SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');

const FIXED_BYTES = 16;
/** The smallest TCP segment that every network carries: the specification (§2.2) asks senders to stay below it. */
const MAX_HEADER_BYTES = 536;
const VERSION = 2;
const COMMANDS = { local: 0, proxy: 1 };
const STREAM = 1;
/** Bytes of both addresses and ports, by family. */
const FAMILIES = { unspecified: 0, inet: 1, inet6: 2, unix: 3 };
const ADDRESS_BYTES = [0, 12, 36, 216] as const;
const CHECKSUM_TYPE = 3;
const CHECKSUM_BYTES = 4;
const FIELD_HEAD_BYTES = 3;

/** The binary form. `bytes` starts with the signature, or with a part of it. */
function readVersion2(bytes: Buffer): HeaderReading {
  const versionAndCommand = bytes[12];
  if (versionAndCommand === undefined) return MORE;
  const command = versionAndCommand & 0x0f;
  if (versionAndCommand >> 4 !== VERSION) return refused('unsupported', 'the version is not 2');
  if (command > COMMANDS.proxy) return refused('unsupported', 'the command is neither LOCAL nor PROXY');
  if (bytes.length < FIXED_BYTES) return MORE;
  const length = FIXED_BYTES + bytes.readUInt16BE(14);
  if (length > MAX_HEADER_BYTES) return refused('too_large', `the header is longer than ${MAX_HEADER_BYTES} bytes`);
  if (bytes.length < length) return MORE;
  // A receiver discards the rest of a LOCAL header, whatever it is (§2.2): mostly it is a health check of the proxy.
  if (command === COMMANDS.local) return { state: 'done', source: null, length };
  return readAddresses(bytes.subarray(0, length));
}

function readAddresses(header: Buffer): HeaderReading {
  const family = (header[13] as number) >> 4;
  const transport = (header[13] as number) & 0x0f;
  const addressBytes = ADDRESS_BYTES[family];
  const isKnown = header[13] === 0 || (family !== FAMILIES.unspecified && transport === STREAM);
  if (addressBytes === undefined || !isKnown) return refused('unsupported', 'the addresses are not those of a stream');
  if (header.length < FIXED_BYTES + addressBytes) return refused('malformed', 'the header ends inside its addresses');
  const problem = fieldProblem(header, FIXED_BYTES + addressBytes);
  return problem ?? { state: 'done', source: sourceOf(header, family), length: header.length };
}

function sourceOf(header: Buffer, family: number): ProxiedSource | null {
  if (family === FAMILIES.inet) {
    const address = Array.from(header.subarray(16, 20)).join('.');
    return { address, port: header.readUInt16BE(24) };
  }
  if (family !== FAMILIES.inet6) return null;
  const address = new ipaddr.IPv6(Array.from(header.subarray(16, 32)));
  const shown = address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
  return { address: shown.toString(), port: header.readUInt16BE(48) };
}

/** Fields (type, length, value) after the addresses are ignored, except for the checksum, which must be right. */
function fieldProblem(header: Buffer, start: number): HeaderReading | null {
  let at = start;
  while (at < header.length) {
    const valueAt = at + FIELD_HEAD_BYTES;
    const end = valueAt > header.length ? valueAt : valueAt + header.readUInt16BE(at + 1);
    if (end > header.length) return refused('malformed', 'the header ends inside a field');
    if (header[at] === CHECKSUM_TYPE && !isChecksumRight(header, valueAt, end))
      return refused('checksum', 'the checksum of the header is wrong');
    at = end;
  }
  return null;
}

/** Over the whole header, with zeros in place of the checksum (§2.2.3). */
function isChecksumRight(header: Buffer, valueAt: number, end: number): boolean {
  if (end - valueAt !== CHECKSUM_BYTES) return false;
  const zeroed = Buffer.from(header).fill(0, valueAt, end);
  return crc32c(zeroed) === header.readUInt32BE(valueAt);
}

/** Castagnoli's polynomial, reflected (RFC 3720 appendix B.4). The runtime has only the other CRC-32. */
const POLYNOMIAL = 0x82f63b78;

const TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit += 1) value = (value & 1) === 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1;
  return value >>> 0;
});

export function crc32c(bytes: Uint8Array): number {
  let value = 0xffffffff;
  for (const byte of bytes) value = (value >>> 8) ^ (TABLE[(value ^ byte) & 0xff] as number);
  return (value ^ 0xffffffff) >>> 0;
}
