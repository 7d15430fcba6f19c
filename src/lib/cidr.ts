import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Parses an address as sockets report it; IPv4 inside IPv6 (`::ffff:1.2.3.4`) is the IPv4 address. Null when it is none. */
export function parseAddress(text: string): Address | null {
  return ipaddr.isValid(text) ? ipaddr.process(text) : null;
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
