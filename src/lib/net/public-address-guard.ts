import { cidrMatcher, parseAddress } from './cidr.ts';

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
