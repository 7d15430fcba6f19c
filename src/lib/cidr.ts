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

/** What is wrong with a range that somebody wrote, or null. */
export function cidrProblem(cidr: string): string | null {
  const shape = /^([0-9a-fA-F:.]+)\/(\d{1,3})$/.exec(cidr);
  const address = shape?.[1] ?? '';
  // Only the four-part decimal form: octal and shortened forms mean different ranges to different programs.
  const isWritten = ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address);
  if (!isWritten || !ipaddr.isValidCIDR(cidr))
    return 'must be an address and a prefix length, such as "203.0.113.0/24" or "2001:db8::/32"';
  const [parsed, bits] = ipaddr.parseCIDR(cidr);
  const network =
    parsed.kind() === 'ipv4' ? ipaddr.IPv4.networkAddressFromCIDR(cidr) : ipaddr.IPv6.networkAddressFromCIDR(cidr);
  if (network.toNormalizedString() !== parsed.toNormalizedString()) {
    return `has bits set beyond its prefix: write "${network.toString()}/${bits}" if you mean that range`;
  }
  return null;
}
