import { isIPv6 } from 'node:net';

/**
 * The unit that counts as one client: an IPv4 address, or the /64 of an IPv6 address, since its owner has all 2^64
 * addresses.
 */
export function ownerOf(address: string): string {
  // Asked for every request of a worker: the exact check costs more than the rest of the counting.
  if (!address.includes(':') || !isIPv6(address)) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped?.[1] !== undefined) return mapped[1];
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const after = tail === '' ? [] : tail.split(':');
    while (groups.length < 8 - after.length) groups.push('0');
    groups.push(...after);
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}
