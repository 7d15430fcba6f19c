import { DER, DerCursor } from './der-cursor.ts';

const DNS_NAME = 0x82;
const IP_ADDRESS = 0x87;

/** Host names and addresses in a subject alternative name (RFC 5280 §4.2.1.6). */
export function alternativeNames(value: Buffer): {
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
