import type { HeaderList } from '../lib/http/header-values.ts';
import { headerName, isAllowedInTrailers, isToken } from '../lib/http1/header-names.ts';
import { assertSafeName, assertSafeRequest, assertSafeValue, isSafeValue } from './request-headers.ts';
import { standingLines } from './standing-headers.ts';
import type { ResponseHead, UpstreamRequest } from './upstream.ts';

/**
 * Throws `UnsafeRequestError`: the runtime drops some bad values silently, and the upstream may forward over HTTP/1.1.
 * `own` headers are set by us alone and come last.
 */
export function http2RequestHeaders(request: UpstreamRequest, own: HeaderList): string[] {
  assertSafeRequest(request);
  const { headers, body, switchTo } = request;
  const list = [
    ':method',
    // RFC 8441 §4: how HTTP/2 switches protocols.
    switchTo === null ? request.method : 'CONNECT',
    ':scheme',
    'https',
    ':authority',
    request.authority,
    ':path',
    request.target,
  ];
  if (switchTo !== null) list.push(':protocol', switchTo);
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    const value = headers[i + 1] as string;
    assertSafeName(name);
    assertSafeValue(name, value);
    // RFC 9113 §8.2.2: the only value allowed for TE.
    if (name !== 'te' || value === 'trailers') list.push(name, value);
  }
  for (const standing of request.standing ?? []) {
    // Only for validation; the resulting lines are for HTTP/1.1.
    standingLines(standing);
    for (let i = 0; i < standing.length; i += 1) list.push(standing[i] as string);
  }
  if (body.framing === 'length') list.push('content-length', String(body.bytes));
  if (body.framing !== 'none' && body.expectsContinue) list.push('expect', '100-continue');
  for (let i = 0; i < own.length; i += 1) list.push(own[i] as string);
  return list;
}

const CONTENT_LENGTH = /^(?:0|[1-9][0-9]{0,14})$/;
const CONNECTION_AUTH = /(?:^|[\s,])(?:ntlm|negotiate)(?:[\s,]|$)/i;

export interface Http2ResponseHeaders {
  readonly headers: HeaderList;
  readonly contentLength: number | null;
  readonly hasConnectionAuth: boolean;
}

/**
 * The runtime has checked names, values and Content-Length. What remains is to remove headers that are not for the
 * client.
 */
export function http2ResponseHeaders(raw: readonly string[], isTrailers = false): Http2ResponseHeaders {
  const headers: string[] = [];
  let contentLength: number | null = null;
  let hasConnectionAuth = false;
  for (let i = 0; i < raw.length; i += 2) {
    const given = raw[i] ?? '';
    const value = raw[i + 1] ?? '';
    if (given.startsWith(':')) continue;
    const found = headerName(given);
    if (found === null || !isSafeValue(value)) continue;
    if (found.kind === 'content-length' && CONTENT_LENGTH.test(value)) contentLength = Number(value);
    if (found.kind === 'www-authenticate') hasConnectionAuth ||= CONNECTION_AUTH.test(value);
    else if (found.kind !== 'end-to-end') continue;
    if (!isTrailers || isAllowedInTrailers(found.name)) headers.push(found.name, value);
  }
  return { headers, contentLength, hasConnectionAuth };
}

export function http2ResponseHead(
  status: number,
  raw: readonly string[],
  isBodiless: boolean,
): { readonly head: ResponseHead; readonly hasConnectionAuth: boolean } {
  const { headers, contentLength, hasConnectionAuth } = http2ResponseHeaders(raw);
  const bodyBytes = isBodiless || status === 204 || status === 304 ? 0 : contentLength;
  return { head: { status, headers, bodyBytes, declaredBytes: contentLength }, hasConnectionAuth };
}

/** Unsafe trailers are dropped, as over HTTP/1.1. */
export function sendableTrailers(list: HeaderList): HeaderList {
  const fit = (name: string, value: string): boolean =>
    isToken(name) && isAllowedInTrailers(name) && isSafeValue(value);
  return list.filter((_, at) => fit(list[at - (at % 2)] as string, list[at - (at % 2) + 1] as string));
}
