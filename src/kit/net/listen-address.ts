import { isIP, isIPv4, isIPv6 } from 'node:net';
import { hostNameProblem } from './host-name.ts';

/** Address that a listener binds. An IPv6 host is stored without brackets. Port 0 asks the system for a free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** The first one appears in URLs. */
export type ListenAddresses = readonly [ListenAddress, ...ListenAddress[]];

export interface PortRange {
  readonly host: string;
  readonly first: number;
  readonly last: number;
}

const HOST_AND_PORT = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/;
const HOST_AND_RANGE = /^(.+:)(\d{1,5})-(\d{1,5})$/;
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i;
const MAX_PORT = 65_535;

export function parseListenAddress(text: string): ListenAddress | null {
  const match = HOST_AND_PORT.exec(text);
  if (match === null) return null;
  const [, bracketed, plain, portText] = match;
  const port = Number(portText);
  if (port > MAX_PORT) return null;
  if (bracketed !== undefined) return isIPv6(bracketed) ? { host: bracketed, port } : null;
  return plain !== undefined && isHost(plain) ? { host: plain, port } : null;
}

export function formatListenAddress({ host, port }: ListenAddress): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * Whether the wildcard `[::]` must leave IPv4 to another address of the list: it takes both families otherwise, and the
 * second listener on the port would fail.
 */
export function isIpv6Only({ host, port }: ListenAddress, all: readonly ListenAddress[]): boolean {
  return isIPv6(host) && isWildcardHost(host) && all.some((other) => other.port === port && !isIPv6(other.host));
}

/** Two addresses of the list that cannot both be opened because one includes the other; null: there are none. */
export function overlapping(all: readonly ListenAddress[]): readonly [ListenAddress, ListenAddress] | null {
  for (const wide of all) {
    const narrow = all.find((other) => other !== wide && includes(wide, other));
    if (narrow !== undefined) return [wide, narrow];
  }
  return null;
}

export function parsePortRange(text: string): PortRange | null {
  const match = HOST_AND_RANGE.exec(text);
  if (match === null) return null;
  const start = parseListenAddress(`${match[1]}${match[2]}`);
  const last = Number(match[3]);
  if (start === null || start.port === 0 || last < start.port || last > MAX_PORT) return null;
  return { host: start.host, first: start.port, last };
}

export function formatPortRange({ host, first, last }: PortRange): string {
  return `${formatListenAddress({ host, port: first })}-${last}`;
}

/**
 * Whether a host is this machine. Names other than `localhost` and those under it (RFC 6761 §6.3) may resolve to
 * anything, so they do not count. Takes URL hostnames too, where an IPv6 address has brackets.
 */
export function isLoopbackHost(given: string): boolean {
  const host = given.replace(/^\[(.*)\]$/, '$1');
  if (isIPv4(host)) return host.startsWith('127.');
  if (isIPv6(host)) return isLoopbackV6(host);
  const name = host.toLowerCase();
  return name === 'localhost' || name.endsWith('.localhost');
}

/** Whether the host means "all addresses of this machine", which no client can dial. */
export function isWildcardHost(host: string): boolean {
  return host === '0.0.0.0' || (isIPv6(host) && canonicalV6(host) === '[::]');
}

export function isHostName(text: string): boolean {
  return HOST_NAME.test(text);
}

function isHost(text: string): boolean {
  if (isIPv4(text)) return true;
  // Only digits and dots but not an IPv4 address: a typo (`127.0.0.256`), not a name.
  return isIP(text) === 0 && isHostName(text) && !/^[\d.]+$/.test(text);
}

function includes(wide: ListenAddress, { host, port }: ListenAddress): boolean {
  return port !== 0 && wide.port === port && isWildcardHost(wide.host) && isIP(wide.host) === isIP(host);
}

function isLoopbackV6(host: string): boolean {
  const canonical = canonicalV6(host);
  // ::ffff:127.x.y.z reaches the IPv4 loopback; its canonical form ends in two hexadecimal groups.
  return canonical === '[::1]' || /^\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\]$/.test(canonical);
}

function canonicalV6(host: string): string {
  const [address] = host.split('%');
  return new URL(`http://[${address}]/`).hostname;
}

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
