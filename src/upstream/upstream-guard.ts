import { type Address, cidrMatcher, parseAddress } from '../lib/net/cidr.ts';
import type { OwnAddresses } from './own-addresses.ts';

/** Link-local, where clouds keep their metadata services, and those of AWS, Alibaba, Azure, Google, Oracle and Scaleway elsewhere. */
const METADATA = ['169.254.0.0/16', '100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32'].map(cidrMatcher);
const METADATA_V6 = [
  'fe80::/10',
  'fd00:ec2::/112',
  'fd20:ce::254/128',
  'fd00:c1::a9fe:a9fe/128',
  'fd00:42::42/128',
].map(cidrMatcher);
/** Linux connects them to loopback. */
const UNSPECIFIED = ['0.0.0.0/8', '::/128'].map(cidrMatcher);

/**
 * IPv6 ranges that lead to IPv4, with the places of its four bytes: NAT64 (RFC 6052 §2.2; a network may use any prefix length in
 * its own range of RFC 8215), 6to4, RFC 6145, and RFC 4291 §2.5.5.1.
 */
const EMBEDDINGS: readonly (readonly [range: string, places: readonly (readonly number[])[]])[] = [
  ['64:ff9b::/96', [[12, 13, 14, 15]]],
  [
    '64:ff9b:1::/48',
    [
      [6, 7, 9, 10],
      [7, 9, 10, 11],
      [9, 10, 11, 12],
      [12, 13, 14, 15],
    ],
  ],
  ['2002::/16', [[2, 3, 4, 5]]],
  ['::ffff:0:0:0/96', [[12, 13, 14, 15]]],
  ['::/96', [[12, 13, 14, 15]]],
];
const CARRIERS = EMBEDDINGS.map(([range, places]) => ({ matches: cidrMatcher(range), places }));

function isMetadata(address: Address): boolean {
  if (address.kind() === 'ipv4') return METADATA.some((matches) => matches(address));
  if (METADATA_V6.some((matches) => matches(address))) return true;
  const bytes = address.toByteArray();
  return CARRIERS.some(
    ({ matches, places }) =>
      matches(address) &&
      places.some((at) => {
        const inner = parseAddress(at.map((index) => bytes[index]).join('.'));
        return inner !== null && METADATA.some((isOne) => isOne(inner));
      }),
  );
}

/**
 * Connections made on behalf of others may not reach metadata services or Postern itself; checked against the address
 * that is dialled.
 */
export function upstreamGuard(
  allowedCidrs: readonly string[],
  own: Pick<OwnAddresses, 'has'>,
): (ip: string, port: number) => boolean {
  const allowed = allowedCidrs.map(cidrMatcher);
  return (ip, port) => {
    const address = parseAddress(ip);
    if (address === null || own.has(ip, port)) return false;
    if (allowed.some((matches) => matches(address))) return true;
    return !isMetadata(address) && !UNSPECIFIED.some((matches) => matches(address));
  };
}
