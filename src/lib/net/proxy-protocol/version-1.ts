import { isIPv4 } from 'node:net';
import { parseWrittenAddress } from '../cidr.ts';
import { type HeaderReading, MORE, type ProxiedSource, refused } from './header-reading.ts';

export const VERSION_1_PREFIX = Buffer.from('PROXY ');

/** The longest line of the specification (§2.1): UNKNOWN with two full IPv6 addresses, and CRLF. */
const MAX_BYTES = 107;
const PORT = /^(?:0|[1-9]\d{0,4})$/;
const MAX_PORT = 65_535;

/** The text form. `bytes` starts with the prefix, or with a part of it. */
export function readVersion1(bytes: Buffer): HeaderReading {
  const end = bytes.subarray(0, MAX_BYTES).indexOf('\r\n');
  if (end === -1) {
    return bytes.length < MAX_BYTES ? MORE : refused('too_large', `the line is longer than ${MAX_BYTES} bytes`);
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
