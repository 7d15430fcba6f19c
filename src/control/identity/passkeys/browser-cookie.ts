import { cookieValues, setCookie } from '../../../kit/http/cookie-header.ts';
import { valuesOf } from '../../../kit/http/header-values.ts';
import type { WholeRequest } from '../../../kit/http/whole-request.ts';

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

const KNOWN_NAME = '__Host-postern-known';
const SEAL_PURPOSE = 'identity-known-browser';
const KNOWN_SECONDS = 180 * 86_400;
const ID_BYTES = 16;

interface CookiePorts {
  seal(purpose: string, text: string): string;
  open(purpose: string, sealed: string): string | null;
  randomText(bytes: number): string;
}

/**
 * A browser with which a person has logged in. It gives no access: strangers who ask for codes do not use up its own.
 */
export interface KnownBrowser {
  readonly account: string;
  readonly id: string;
}

export function knownBrowserOf({ open }: Pick<CookiePorts, 'open'>, { headers }: WholeRequest): KnownBrowser | null {
  const [value] = cookieValues(valuesOf(headers, 'cookie'), KNOWN_NAME);
  const text = value === undefined ? null : open(SEAL_PURPOSE, value);
  return text === null ? null : (JSON.parse(text) as KnownBrowser);
}

/** After a login. The id stays, or each login would give the browser more codes. */
export function knownBrowserCookie(ports: CookiePorts, request: WholeRequest, account: string): string {
  const known = knownBrowserOf(ports, request);
  const id = known?.account === account ? known.id : ports.randomText(ID_BYTES);
  const browser: KnownBrowser = { account, id };
  return setCookie(KNOWN_NAME, ports.seal(SEAL_PURPOSE, JSON.stringify(browser)), KNOWN_SECONDS);
}
