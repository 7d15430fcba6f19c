import { cidrMatcher, parseAddress } from '../lib/net/cidr.ts';
import type { OwnAddresses } from './own-addresses.ts';

/** Link-local, where clouds keep their metadata services, the same inside IPv6 (NAT64, 6to4, RFC 6145, RFC 4291 §2.5.5.1), and those of AWS, Alibaba and Azure elsewhere. */
const FORBIDDEN = [
  '169.254.0.0/16',
  'fe80::/10',
  '64:ff9b::a9fe:0/112',
  '2002:a9fe::/32',
  '::ffff:0:a9fe:0/112',
  '::a9fe:0/112',
  'fd00:ec2::254/128',
  '100.100.100.200/32',
  '168.63.129.16/32',
  '0.0.0.0/8',
  '::/128',
].map(cidrMatcher);

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
    return allowed.some((matches) => matches(address)) || !FORBIDDEN.some((matches) => matches(address));
  };
}
