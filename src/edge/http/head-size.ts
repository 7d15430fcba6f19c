import type { HeaderList } from '../../lib/http/header-values.ts';

export interface HeadLimits {
  readonly maxHeaderBytes: number;
  readonly maxHeaderCount: number;
}

export const COOKIE_SEPARATOR = '; ';
/** Fields of a request over HTTP/2 with all crumbs of its cookies, which cost time one by one. Browsers keep 180 cookies for a site. */
export const MAX_FIELDS = 1_000;

/**
 * Whether a head over HTTP/2 is larger than the same one may be over HTTP/1.1, where the runtime counts the bytes of
 * the target, the names and the values, and where all cookies are one header.
 */
export function isHeadTooLarge(raw: HeaderList, { maxHeaderBytes, maxHeaderCount }: HeadLimits): boolean {
  let bytes = 0;
  let count = 0;
  let hasCookie = false;
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string;
    const { length } = raw[at + 1] as string;
    if (name === ':path') bytes += length;
    else if (name === 'cookie' && hasCookie) bytes += COOKIE_SEPARATOR.length + length;
    else if (name === ':authority' || !name.startsWith(':')) {
      hasCookie ||= name === 'cookie';
      count += 1;
      bytes += (name === ':authority' ? 'host' : name).length + length;
    }
  }
  return bytes >= maxHeaderBytes || count > maxHeaderCount || raw.length > 2 * Math.max(MAX_FIELDS, maxHeaderCount);
}

/** The same for trailers, in which nothing is joined. */
export function areTrailersTooLarge(raw: HeaderList, { maxHeaderBytes, maxHeaderCount }: HeadLimits): boolean {
  let bytes = 0;
  for (const text of raw) bytes += text.length;
  return bytes >= maxHeaderBytes || raw.length > 2 * maxHeaderCount;
}
