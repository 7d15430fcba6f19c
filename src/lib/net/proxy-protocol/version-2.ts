import ipaddr from 'ipaddr.js';
import { crc32c } from './crc32c.ts';
import { type HeaderReading, MORE, type ProxiedSource, refused } from './header-reading.ts';

export const VERSION_2_SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');

const FIXED_BYTES = 16;
/** The smallest TCP segment that every network carries: the specification (§2.2) asks senders to stay below it. */
const MAX_BYTES = 536;
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
export function readVersion2(bytes: Buffer): HeaderReading {
  const versionAndCommand = bytes[12];
  if (versionAndCommand === undefined) return MORE;
  const command = versionAndCommand & 0x0f;
  if (versionAndCommand >> 4 !== VERSION) return refused('unsupported', 'the version is not 2');
  if (command > COMMANDS.proxy) return refused('unsupported', 'the command is neither LOCAL nor PROXY');
  if (bytes.length < FIXED_BYTES) return MORE;
  const length = FIXED_BYTES + bytes.readUInt16BE(14);
  if (length > MAX_BYTES) return refused('too_large', `the header is longer than ${MAX_BYTES} bytes`);
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
