import type { HeaderList } from '../../lib/http/header-list.ts';
import type { Coding } from './accept-encoding.ts';
import { weakened } from './entity-tag.ts';

/** Valid for the upstream's bytes but not for ours: RFC 1864, RFC 3230, RFC 9530 (whose digests include the coding). */
const DIGESTS: ReadonlySet<string> = new Set(['content-digest', 'content-md5', 'digest', 'repr-digest']);

/**
 * Replaced, or wrong for a coded body: its length is unknown, and ranges of it cannot be requested (it is not kept).
 */
const REPLACED: ReadonlySet<string> = new Set(['accept-ranges', 'content-encoding', 'content-length']);

export function compressedHeaders(headers: HeaderList, coding: Coding): HeaderList {
  const result: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string;
    const value = headers[at + 1] as string;
    if (DIGESTS.has(name) || REPLACED.has(name)) continue;
    if (name === 'etag') {
      const tag = weakened(value);
      if (tag !== null) result.push(name, tag);
    } else result.push(name, value);
  }
  result.push('content-encoding', coding);
  return withVary(result);
}

/** The same list when there is nothing to add. */
export function withVary(headers: HeaderList): HeaderList {
  let last = -1;
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at] !== 'vary') continue;
    // Nothing can be added to "*" (RFC 9110 §12.5.5).
    if (/(?:^|,)[ \t]*(?:\*|accept-encoding)[ \t]*(?:,|$)/i.test(headers[at + 1] as string)) return headers;
    last = at;
  }
  if (last < 0) return [...headers, 'vary', 'Accept-Encoding'];
  const value = (headers[last + 1] as string).trim();
  return headers.with(last + 1, value === '' ? 'Accept-Encoding' : `${value}, Accept-Encoding`);
}

/** A digest known only at the end comes as a trailer, and is equally wrong there. */
export function compressedTrailers(trailers: HeaderList): HeaderList {
  return trailers.filter((_, at) => !DIGESTS.has(trailers[at - (at % 2)] as string));
}
