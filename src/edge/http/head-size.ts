import type { HeaderList } from '../../lib/http/header-list.ts';

export interface HeadLimits {
  readonly maxHeaderBytes: number;
  readonly maxHeaderCount: number;
}

/**
 * Whether a head over HTTP/2 is larger than the same one may be over HTTP/1.1, where the runtime counts the bytes of
 * the target, the names and the values. The same for trailers.
 */
export function isTooLarge(raw: HeaderList, { maxHeaderBytes, maxHeaderCount }: HeadLimits): boolean {
  let bytes = 0;
  let count = 0;
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string;
    const { length } = raw[at + 1] as string;
    if (name === ':path') bytes += length;
    else if (name === ':authority' || !name.startsWith(':')) {
      count += 1;
      bytes += (name === ':authority' ? 'host' : name).length + length;
    }
  }
  return bytes >= maxHeaderBytes || count > maxHeaderCount;
}
