import { parseAddress } from '../../../lib/net/cidr.ts';

/** Multiple of a single address's limit that a network has. */
export type NetworkSize = 1 | 2 | 4;

export interface ClientNetwork {
  readonly name: string;
  readonly size: NetworkSize;
}

/**
 * Customers of access providers have a /64, a /56 or a /48 (RFC 6177), tenants of hosting providers often a /24. Each
 * is limited; otherwise the 65,536 /64 of one customer would count as that many clients. A wider network has a higher
 * limit than a narrower one, so that one customer cannot use up the neighbors' share.
 */
const IPV6_PREFIXES = [
  { bytes: 6, size: 4 },
  { bytes: 7, size: 2 },
  { bytes: 8, size: 1 },
] as const;
const IPV4_PREFIXES = [
  { bytes: 3, size: 4 },
  { bytes: 4, size: 1 },
] as const;

/** The networks of an address, widest first. */
export function networksOf(clientAddress: string): readonly ClientNetwork[] {
  const address = parseAddress(clientAddress);
  if (address === null) return [{ name: clientAddress, size: 1 }];
  const isIPv4 = address.kind() === 'ipv4';
  const bytes = address.toByteArray();
  return (isIPv4 ? IPV4_PREFIXES : IPV6_PREFIXES).map((prefix) => ({
    name: `${isIPv4 ? 4 : 6}:${bytes.slice(0, prefix.bytes).join('.')}`,
    size: prefix.size,
  }));
}

/** The name of the widest network: phones and carriers change addresses within it. */
export function widestNetworkOf(clientAddress: string): string {
  return networksOf(clientAddress)[0]?.name ?? clientAddress;
}
