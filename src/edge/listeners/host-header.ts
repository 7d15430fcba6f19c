import { isIPv4, isIPv6 } from 'node:net';
import { hostNameProblem } from '../../lib/host-name.ts';

const HOST_AND_PORT = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/i;
const MAX_PORT = 65_535;

/** The host of a request in lower case, without its port. Null when there is not exactly one, or it is none. */
export function readHostHeader(rawHeaders: readonly string[]): string | null {
  let value: string | null = null;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() !== 'host') continue;
    if (value !== null) return null;
    value = rawHeaders[index + 1] ?? '';
  }
  const [, name, port] = HOST_AND_PORT.exec(value ?? '') ?? [];
  if (name === undefined || Number(port ?? 0) > MAX_PORT) return null;
  const host = name.toLowerCase();
  const isAddress = isIPv4(host) || (host.startsWith('[') && isIPv6(host.slice(1, -1)));
  return isAddress || hostNameProblem(host, 'refused') === null ? host : null;
}
