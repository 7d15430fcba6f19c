import { isIPv4, isIPv6 } from 'node:net';
import { hostNameProblem } from './host-name.ts';

/** The problem with an upstream's `host:port`, or null. */
export function upstreamAddressProblem(address: string): string | null {
  const shape = /^(?:\[(?<v6>[^\]]+)\]|(?<host>[^:[\]]+)):(?<port>[1-9]\d{0,4})$/.exec(address);
  if (shape === null || Number(shape.groups?.['port']) > 65_535) {
    return 'must be "host:port" with a port from 1 to 65535, such as "10.0.0.5:3000" or "[2001:db8::1]:443"';
  }
  const { v6, host } = shape.groups as { v6?: string; host?: string };
  if (v6 !== undefined)
    return isIPv6(v6) && !v6.includes('%') ? null : 'has brackets around text that is not an IPv6 address';
  return isIPv4(host as string) ? null : hostNameProblem(host as string, 'refused');
}
