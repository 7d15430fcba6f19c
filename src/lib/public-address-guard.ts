import { cidrMatcher, parseAddress } from './cidr.ts';

/** Public by its range, yet a service of the host: the platform channel of Azure. */
const PLATFORM = [cidrMatcher('168.63.129.16/32')];
/** RFC 4291 §2.4: all of IPv6 that is assigned as global unicast. NAT64, `::127.0.0.1` and site-local lie outside of it. */
const GLOBAL_V6 = cidrMatcher('2000::/3');

/**
 * Allows public unicast addresses and the given ranges. Denies loopback, private, link-local (where clouds keep their metadata),
 * carrier-grade NAT, multicast, reserved, and every form of IPv6 that carries an IPv4 address.
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
