const HTTPS_PORT = 443;
const HTTP_PORT = 80;

export interface KnownPorts {
  /** Those of the HTTPS listeners; 0 is any free one. */
  readonly listening: readonly number[];
  /** Those that the operator named because something in front maps them; those of HTTP may be among them. */
  readonly mapped: readonly number[];
}

/**
 * The ports in the addresses that clients use for HTTPS, and first the one for a new address: 443 if clients can use it,
 * otherwise the first. 443 is always among them: a request to it names no port, so nothing contradicts it.
 */
export function publicPorts({ listening, mapped }: KnownPorts): readonly number[] {
  const outside = mapped.filter((port) => port !== HTTP_PORT);
  const ports = outside.length > 0 ? outside : listening.filter((port) => port !== 0);
  const [first = HTTPS_PORT] = ports;
  return [...new Set([ports.includes(HTTPS_PORT) ? HTTPS_PORT : first, ...ports, HTTPS_PORT])];
}
