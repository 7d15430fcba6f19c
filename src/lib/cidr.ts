import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Parses an address as sockets report it; IPv4 inside IPv6 (`::ffff:1.2.3.4`) is the IPv4 address. Null when it is none. */
export function parseAddress(text: string): Address | null {
  return parseWrittenAddress(isIPv6(text) ? text.replace(/%.*$/, '') : text);
}

/** The same for what somebody wrote: a zone (`fe80::1%eth0`) means something on one machine only. */
export function parseWrittenAddress(text: string): Address | null {
  return isCanonical(text) ? ipaddr.process(text) : null;
}

/**
 * The library also takes `167837953`, `0xa.1.1.1` and `10.1.257`, which are other addresses to other programs, or none; and
 * `::10.1.1.1`, which it takes for `::ffff:10.1.1.1`.
 */
function isCanonical(text: string): boolean {
  if (isIPv4(text)) return true;
  return isIPv6(text) && !text.includes('%') && (!text.includes('.') || /^::ffff:[\d.]+$/i.test(text));
}

export type AddressMatcher = (address: Address) => boolean;

/** Matches addresses inside a range in CIDR notation, which must be valid. */
export function cidrMatcher(cidr: string): AddressMatcher {
  const [network, bits] = ipaddr.parseCIDR(cidr);
  const isMapped = network instanceof ipaddr.IPv6 && network.isIPv4MappedAddress() && bits >= 96;
  const range: [Address, number] = isMapped ? [network.toIPv4Address(), bits - 96] : [network, bits];
  return (address) =>
    address.kind() === range[0].kind() && (address.match as (range: [Address, number]) => boolean)(range);
}

/** Whether a text is a range, perhaps with bits set beyond its prefix. */
export function isCidr(text: string): boolean {
  const [, address = ''] = /^(.+)\/(?:0|[1-9]\d{0,2})$/.exec(text) ?? [];
  return isCanonical(address) && ipaddr.isValidCIDR(text);
}

/** What is wrong with a range that somebody wrote, or null. */
export function cidrProblem(cidr: string): string | null {
  if (!isCidr(cidr)) return 'must be an address and a prefix length, such as "203.0.113.0/24" or "2001:db8::/32"';
  const [parsed, bits] = ipaddr.parseCIDR(cidr);
  const network =
    parsed.kind() === 'ipv4' ? ipaddr.IPv4.networkAddressFromCIDR(cidr) : ipaddr.IPv6.networkAddressFromCIDR(cidr);
  if (network.toNormalizedString() !== parsed.toNormalizedString()) {
    return `has bits set beyond its prefix: write "${network.toString()}/${bits}" if you mean that range`;
  }
  return null;
}
