import { type HeaderReading, MORE, refused } from './header-reading.ts';
import { readVersion1, VERSION_1_PREFIX } from './version-1.ts';
import { readVersion2, VERSION_2_SIGNATURE } from './version-2.ts';

/**
 * Reads a PROXY protocol header, version 1 or 2, from the first bytes of a connection
 * (https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt). Another protocol is refused at its first byte that
 * differs, and a header as soon as it is too long: at most 536 bytes are ever waited for.
 */
export function readProxyHeader(bytes: Buffer): HeaderReading {
  if (bytes.length === 0) return MORE;
  if (startsLike(bytes, VERSION_2_SIGNATURE)) return readVersion2(bytes);
  if (startsLike(bytes, VERSION_1_PREFIX)) return readVersion1(bytes);
  return refused('missing', 'the connection does not start with a PROXY header');
}

function startsLike(bytes: Buffer, prefix: Buffer): boolean {
  const length = Math.min(bytes.length, prefix.length);
  return bytes.compare(prefix, 0, length, 0, length) === 0;
}
