import { cookieValues, setCookie } from '../../lib/http/cookie-header.ts';
import { valuesOf } from '../../lib/http/header-list.ts';
import type { WholeRequest } from '../../lib/http/whole-request.ts';

/**
 * Names the browser, so that a challenge or a code is only good in the browser that asked for it. It gives no access. A
 * sibling host cannot set a cookie with this prefix (RFC 6265bis §4.1.3.2).
 */
const NAME = '__Host-postern-browser';
const VALUE = /^[A-Za-z0-9_-]{43}$/;
const SECONDS = 30 * 86_400;

/** Null: the browser sent no cookie of ours. */
export function browserOf(request: WholeRequest): string | null {
  const found = cookieValues(valuesOf(request.headers, 'cookie'), NAME);
  return found.find((value) => VALUE.test(value)) ?? null;
}

/** For every page with a ceremony: the cookie exists before its script asks for a challenge. */
export function keptBrowserCookie(request: WholeRequest, randomText: (bytes: number) => string): string {
  return setCookie(NAME, browserOf(request) ?? randomText(32), SECONDS);
}
