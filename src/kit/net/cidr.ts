import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * Parses an address as sockets report it; IPv4 inside IPv6 (`::ffff:1.2.3.4`) becomes the IPv4 address. Null when
 * invalid.
 */
export function parseAddress(text: string): Address | null {
  return parseWrittenAddress(isIPv6(text) ? text.replace(/%.*$/, '') : text);
}

/** Like `parseAddress`, for input written by people: a zone (`fe80::1%eth0`) has a meaning on one machine only. */
export function parseWrittenAddress(text: string): Address | null {
  return isCanonical(text) ? ipaddr.process(text) : null;
}

/**
 * The library also accepts `167837953`, `0xa.1.1.1` and `10.1.257`, which other programs read as other addresses or
 * reject; and `::10.1.1.1`, which it reads as `::ffff:10.1.1.1`.
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

/** Whether a text is a range, possibly with bits set beyond its prefix. */
export function isCidr(text: string): boolean {
  const [, address = ''] = /^(.+)\/(?:0|[1-9]\d{0,2})$/.exec(text) ?? [];
  return isCanonical(address) && ipaddr.isValidCIDR(text);
}

const NOT_A_RANGE = 'must be an address with a prefix length, such as "203.0.113.0/24" or "2001:db8::/32"';

/** The problem with a written range, or null. `notARange` words the case of a text that is not a range at all. */
export function cidrProblem(cidr: string, notARange = NOT_A_RANGE): string | null {
  if (!isCidr(cidr)) return notARange;
  const [parsed, bits] = ipaddr.parseCIDR(cidr);
  const network =
    parsed.kind() === 'ipv4' ? ipaddr.IPv4.networkAddressFromCIDR(cidr) : ipaddr.IPv6.networkAddressFromCIDR(cidr);
  if (network.toNormalizedString() !== parsed.toNormalizedString()) {
    return `has bits set beyond its prefix: use "${network.toString()}/${bits}" for that range`;
  }
  return null;
}

/** A public address that is nevertheless a host service: Azure's platform channel. */
const PLATFORM = [cidrMatcher('168.63.129.16/32')];
/**
 * RFC 4291 §2.4: all IPv6 space assigned as global unicast. NAT64, `::127.0.0.1` and site-local addresses lie outside
 * of it.
 */
const GLOBAL_V6 = cidrMatcher('2000::/3');

/**
 * Allows public unicast addresses and the given ranges. Denies loopback, private, link-local (where clouds keep their
 * metadata), carrier-grade NAT, multicast, reserved, and every IPv6 form that embeds an IPv4 address.
 */
export function publicAddressGuard(allowedCidrs: readonly string[]): (ip: string) => boolean {
  const allowed = allowedCidrs.map(cidrMatcher);
  return (ip) => {
    const address = parseAddress(ip);
    if (address === null) return false;
    if (allowed.some((matches) => matches(address))) return true;
    if (address.kind() === 'ipv6' && !GLOBAL_V6(address)) return false;
    return address.range() === 'unicast' && !PLATFORM.some((matches) => matches(address));
  };
}
