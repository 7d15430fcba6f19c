import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { consoleErrors } from '../errors.ts';

const PLAIN_HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

export interface OwnAddress {
  readonly baseUrl: string;
  /** Whether the listener itself speaks TLS; a proxy in front of it may. */
  readonly isTls: boolean;
}

export interface BrowserHeaders {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

/**
 * Checks that a request with a session comes from a page of this server. Host: after DNS rebinding a page of
 * evil.example reaches a loopback server under its own name, so only names that cannot be rebound are accepted: the
 * base URL's, localhost and IP addresses. Origin: pages of other ports on the same host receive the same cookies.
 */
export function checkBrowserOrigin({ method, headers }: BrowserHeaders, own: OwnAddress): void {
  const base = new URL(own.baseUrl);
  const page = checkOwnName({ headers }, own);
  const { origin } = headers;
  const site = headers['sec-fetch-site'];
  const isSameSite = site === undefined || site === 'same-origin';
  const isOwnOrigin =
    origin === undefined ? SAFE_METHODS.has(method) : origin === base.origin || origin === page.origin;
  if (isSameSite && isOwnOrigin) return;
  throw consoleErrors.create(
    'ERR_POSTERN_CONSOLE_ORIGIN',
    `the request does not come from a page of this server: open ${own.baseUrl}/console, or set api_url to the address that you use`,
  );
}

/** The origin under which a browser visits this server. Throws for a name that somebody could point here. */
export function checkOwnName({ headers }: Pick<BrowserHeaders, 'headers'>, own: OwnAddress): URL {
  const base = new URL(own.baseUrl);
  const host = (headers.host ?? '').toLowerCase();
  // Null for a port above 65535.
  const page = URL.parse(`${own.isTls ? 'https' : 'http'}://${host}`);
  if (PLAIN_HOST.test(host) && page !== null && isOwnName(hostNameOf(host), base.hostname)) return page;
  throw consoleErrors.create(
    'ERR_POSTERN_CONSOLE_ORIGIN',
    `the console is not available under the name in this address: open ${own.baseUrl}/console, or set api_url to the address that you use`,
  );
}

function hostNameOf(host: string): string {
  return host.replace(/:\d+$/, '').replace(/\.$/, '');
}

function isOwnName(name: string, baseName: string): boolean {
  return name === baseName || name === 'localhost' || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
}
