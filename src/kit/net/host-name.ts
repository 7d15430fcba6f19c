/** The problem with a host name, or null. A leading `*.` stands for one label where `wildcard` allows it. */
export function hostNameProblem(host: string, wildcard: 'allowed' | 'refused'): string | null {
  if (host === '') return 'has an empty host';
  if (host.length > 253) return 'has a host of more than 253 characters';
  const name = host.startsWith('*.') ? host.slice(2) : host;
  if (name !== host && wildcard === 'refused') return `"${host}" has a wildcard, which this field does not allow`;
  if (name.includes('*')) return `"${host}" may have "*" only as its whole first label, as in "*.example.com"`;
  const labels = name.split('.');
  const bad = labels.find((label) => !/^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$/i.test(label));
  if (bad !== undefined) {
    return `"${host}" is not a host name: its labels must be 1 to 63 letters, digits and hyphens (write other characters in xn-- form)`;
  }
  // Resolvers and browsers read these as IPv4 addresses, also without a dot (WHATWG URL §3.5).
  if (/^(?:\d+|0x[0-9a-f]*)$/i.test(labels.at(-1) ?? '')) return `"${host}" is an IP address: use a host name`;
  return null;
}

/** ASCII letters only: `toLowerCase` turns the Kelvin sign into a "k", and so an unchecked name into another. */
export function lowerCaseHost(host: string): string {
  return host.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/**
 * Without the dot of the root, which some clients send: `a.example.` and `a.example` are one name (RFC 3986 §3.2.2). A
 * port stays.
 */
export function withoutRootDot(authority: string): string {
  if (authority.endsWith('.')) return authority.slice(0, -1);
  const at = authority.indexOf('.:');
  return at === -1 ? authority : `${authority.slice(0, at)}${authority.slice(at + 1)}`;
}

/** Whether the host, which may be a wildcard, is `name` or below it. Both are in lower case. */
export function isHostOrBelow(host: string, name: string): boolean {
  const plain = host.startsWith('*.') ? host.slice(2) : host;
  return plain === name || plain.endsWith(`.${name}`);
}

/** Host and port of a checked address; an IPv6 address without its brackets. */
export function splitAddress(address: string): { readonly host: string; readonly port: number } {
  const separator = address.lastIndexOf(':');
  return { host: address.slice(0, separator).replace(/^\[|\]$/g, ''), port: Number(address.slice(separator + 1)) };
}

/** The host of a `host:port` as it is written. */
export function hostOf(hostport: string): string {
  const separator = hostport.lastIndexOf(':');
  return separator === -1 ? hostport : hostport.slice(0, separator);
}

const HTTPS_PORT = 443;
const HTTP_PORT = 80;

export interface KnownPorts {
  /** Ports of the HTTPS listeners; 0 is any free one. */
  readonly listening: readonly number[];
  /** Ports that the operator named because something in front maps them; those of HTTP may be among them. */
  readonly mapped: readonly number[];
}

/**
 * The ports in the addresses that clients use for HTTPS, and first the one for a new address: 443 if clients can use
 * it, otherwise the first. 443 is always among them: a request to it names no port, so nothing contradicts it.
 */
export function publicPorts({ listening, mapped }: KnownPorts): readonly number[] {
  const outside = mapped.filter((port) => port !== HTTP_PORT);
  const ports = outside.length > 0 ? outside : listening.filter((port) => port !== 0);
  const [first = HTTPS_PORT] = ports;
  return [...new Set([ports.includes(HTTPS_PORT) ? HTTPS_PORT : first, ...ports, HTTPS_PORT])];
}
