import type { HeaderList } from '../../lib/http/header-list.ts';

/** RFC 9110 §8.8.3. */
const STRONG = /^"[\x21\x23-\x7e\x80-\xff]*"$/;
const WEAK = /^W\/"[\x21\x23-\x7e\x80-\xff]*"$/;

/**
 * The tag for a coded body: a strong tag promises the same bytes (RFC 9110 §8.8.1), and ours differ by coding and by
 * compressor version. Null for an invalid tag: it cannot be weakened, and must not be taken for a strong one.
 */
export function weakened(tag: string): string | null {
  if (STRONG.test(tag)) return `W/${tag}`;
  return WEAK.test(tag) ? tag : null;
}

/**
 * Headers of a 304: the client sent the weak tag that it got from us, the upstream responds with its strong one. A
 * cache that holds the weak one must not freshen it by another strong tag (RFC 9111 §4.3.4): it gets back the tag that
 * it sent.
 */
export function requestedTag(headers: HeaderList, ifNoneMatch: string | undefined): HeaderList {
  if (ifNoneMatch === undefined) return headers;
  const at = headers.findIndex((name, index) => index % 2 === 0 && name === 'etag');
  const tag = headers[at + 1];
  if (at < 0 || tag === undefined || !STRONG.test(tag)) return headers;
  const asked: readonly string[] = ifNoneMatch.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return asked.includes(`W/${tag}`) && !asked.includes(tag) ? headers.with(at + 1, `W/${tag}`) : headers;
}
