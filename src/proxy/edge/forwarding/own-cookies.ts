import { withoutMarked } from '../../../kit/http/cookie-header.ts';
import type { HeaderList } from '../../../kit/http/header-values.ts';
import { OWN_COOKIE_MARK } from '../../../modules/contract/prepared-module.ts';
import type { OwnCookieNames } from '../../snapshot/edge-snapshot.ts';

/** A copy without our own cookies: they grant access to the edge and must not reach upstreams. */
export function withoutOwnCookies(headers: HeaderList): string[] {
  const kept = headers.slice();
  for (let at = kept.length - 2; at >= 0; at -= 2) {
    if (kept[at] !== 'cookie' || kept[at + 1]?.includes(OWN_COOKIE_MARK) !== true) continue;
    const others = withoutMarked(kept[at + 1] as string, OWN_COOKIE_MARK);
    if (others === '') kept.splice(at, 2);
    else kept[at + 1] = others;
  }
  return kept;
}

/**
 * Removes headers that an upstream must not send from a head, a 1xx response or trailers: `Postern-…`, which only the
 * edge sets, and `Set-Cookie` of our own cookies, with which an upstream could swap or end a visitor's login.
 */
export function withoutOwnHeaders(headers: HeaderList, ownCookieNames: OwnCookieNames): HeaderList {
  for (let at = 0; at < headers.length; at += 2) {
    if (isReserved(headers, at, ownCookieNames)) {
      return headers.filter((_, index) => !isReserved(headers, index - (index % 2), ownCookieNames));
    }
  }
  return headers;
}

/** The same list where none of its lines sets one of our cookies. */
export function withoutSetOwnCookies(headers: HeaderList, ownCookieNames: OwnCookieNames): HeaderList {
  const isOwn = (at: number): boolean =>
    headers[at] === 'set-cookie' && setsOwnCookie(headers[at + 1] ?? '', ownCookieNames);
  for (let at = 0; at < headers.length; at += 2) {
    if (isOwn(at)) return headers.filter((_, index) => !isOwn(index - (index % 2)));
  }
  return headers;
}

/** With the id that a visitor quotes to the operator. */
export function withRequestId(
  headers: HeaderList,
  { id, runtime }: { readonly id: string; readonly runtime: { readonly marksForwarded: boolean } },
): HeaderList {
  return runtime.marksForwarded ? [...headers, 'postern-request-id', id] : headers;
}

function isReserved(headers: HeaderList, at: number, ownCookieNames: OwnCookieNames): boolean {
  const name = headers[at] ?? '';
  if (name === 'set-cookie') return setsOwnCookie(headers[at + 1] ?? '', ownCookieNames);
  return name.startsWith('postern-');
}

/**
 * Whether a `Set-Cookie` line could become one of our cookies. It is interpreted more broadly than by any browser:
 * - The mark counts anywhere in the line, because some clients accept quoted values with semicolons, and comma lists.
 * - The name counts as RFC 6265bis §5.6 defines it, in any case, without control characters, which browsers drop or cut
 *   at. For a cookie without a name (`=postern.session=…`) it is the name that the server will read when the browser
 *   sends only the value.
 */
export function setsOwnCookie(line: string, ownCookieNames: OwnCookieNames): boolean {
  if (line.includes(OWN_COOKIE_MARK)) return true;
  const pair = /^[\s=\p{Cc}]*([^;=]*)/u.exec(line)?.[1] ?? '';
  const name = pair.replaceAll(/[\s"\p{Cc}]/gu, '').toLowerCase();
  return ownCookieNames.has(name);
}
