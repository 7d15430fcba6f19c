import { cidrMatcher, parseAddress } from '../lib/cidr.ts';

/** Public by its range, and yet the host's own services: the platform channel of Azure. */
const PLATFORM = [cidrMatcher('168.63.129.16/32')];

/**
 * Which addresses event destinations may have. Only public unicast ones, unless allowed: loopback, private, link-local (where
 * clouds keep their metadata), carrier-grade NAT, multicast, reserved, and every form of IPv6 that carries an IPv4 address.
 */
export function eventAddressGuard(allowedCidrs: readonly string[]): (ip: string) => boolean {
  const allowed = allowedCidrs.map(cidrMatcher);
  return (ip) => {
    const address = parseAddress(ip);
    if (address === null) return false;
    if (allowed.some((matches) => matches(address))) return true;
    return address.range() === 'unicast' && !PLATFORM.some((matches) => matches(address));
  };
}
