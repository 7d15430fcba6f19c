import { cidrMatcher, parseAddress } from '../lib/cidr.ts';
import type { ListenAddress } from '../lib/listen-address.ts';

/** Link-local, where clouds keep their metadata services, the same through NAT64, and those of AWS, Alibaba and Azure elsewhere. */
const FORBIDDEN = [
  '169.254.0.0/16',
  'fe80::/10',
  '64:ff9b::a9fe:0/112',
  'fd00:ec2::254/128',
  '100.100.100.200/32',
  '168.63.129.16/32',
  '0.0.0.0/8',
  '::/128',
].map(cidrMatcher);

/** What Postern dials for others may not reach metadata services or Postern itself, judged by the address that is dialled. */
export function upstreamGuard(
  allowedCidrs: readonly string[],
  ownAddresses: () => readonly ListenAddress[],
): (ip: string, port: number) => boolean {
  const allowed = allowedCidrs.map(cidrMatcher);
  return (ip, port) => {
    const address = parseAddress(ip);
    if (address === null) return false;
    if (ownAddresses().some((own) => own.port === port && isSameHost(own.host, ip))) return false;
    return allowed.some((matches) => matches(address)) || !FORBIDDEN.some((matches) => matches(address));
  };
}

/** A listener on every address is reached by each of them; only loopback can be told for certain here. */
function isSameHost(host: string, ip: string): boolean {
  const own = parseAddress(host);
  const dialled = parseAddress(ip);
  if (own === null || dialled === null) return false;
  const isEverywhere = own.range() === 'unspecified';
  return isEverywhere ? dialled.range() === 'loopback' : own.toNormalizedString() === dialled.toNormalizedString();
}
