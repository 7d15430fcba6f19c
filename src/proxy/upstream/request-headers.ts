import { type HeaderList, HOP_BY_HOP } from '../../kit/http/header-values.ts';
import { headerName, isAllowedInTrailers, isToken } from '../../kit/http1/header-block.ts';
import type { ResponseHead, UpstreamRequest } from './upstream.ts';

/**
 * Thrown when a request that cannot be sent safely reaches an upstream client: its creator failed to check it. Handling
 * it silently would hide a request smuggling gap.
 */
export class UnsafeRequestError extends Error {
  constructor(what: string) {
    super(`the upstream client rejected the request: ${what}`);
    this.name = 'UnsafeRequestError';
  }
}

/** The request has more headers than the connection to the upstream carries. */
export class RequestTooLargeError extends UnsafeRequestError {}

/** Computed by the upstream client; values from outside could contradict it. */
const RESERVED: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  'expect',
  // RFC 9110 §10.1.4: "TE: trailers" may pass a hop, and the reader of the head keeps nothing else of it.
  ...HOP_BY_HOP.filter((name) => name !== 'te'),
]);

const COMMON: ReadonlySet<string> = new Set(
  `accept accept-encoding accept-language authorization cache-control client-cert content-encoding content-language content-type
cookie date dnt forwarded from if-match if-modified-since if-none-match if-range if-unmodified-since max-forwards origin
postern-auth-assertion postern-auth-claims postern-auth-user-email postern-auth-user-id postern-auth-user-name postern-request-id
pragma priority range referer sec-ch-ua sec-ch-ua-mobile sec-ch-ua-platform sec-fetch-dest sec-fetch-mode
sec-fetch-site sec-fetch-user sec-websocket-extensions sec-websocket-key sec-websocket-protocol sec-websocket-version
traceparent tracestate upgrade-insecure-requests user-agent via x-forwarded-for x-forwarded-host x-forwarded-port
x-forwarded-proto x-real-ip x-request-id x-requested-with`.split(/\s+/),
);
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/**
 * Any other character is a control character, or would be truncated to one byte by latin1 (U+010A becomes a line feed).
 */
const BAD_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
const BAD_TARGET = /[^\x21-\x7e\x80-\xff]/;
/** Schemes that authenticate a connection (RFC 4559 §6; MS-NTHT). */
const REQUEST_CONNECTION_AUTH = /^(?:ntlm|negotiate)(?: |$)/i;

/** Checks the parts of the request line. */
export function assertSafeRequest({ method, target, authority }: UpstreamRequest): void {
  if (!METHODS.has(method)) {
    if (!isToken(method)) throw new UnsafeRequestError('the method is not a token');
    // The response to CONNECT has neither body nor end, which this client does not support.
    if (method === 'CONNECT') throw new UnsafeRequestError('CONNECT');
  }
  if (target === '' || BAD_TARGET.test(target)) throw new UnsafeRequestError('a forbidden character in the target');
  if (BAD_TARGET.test(authority)) throw new UnsafeRequestError('a forbidden character in the authority');
}

export function assertSafeName(name: string): void {
  if (COMMON.has(name)) return;
  if (!isToken(name)) throw new UnsafeRequestError('a header name that is not a token');
  if (RESERVED.has(name.toLowerCase())) throw new UnsafeRequestError(`${name} among the headers`);
}

function isSafeValue(value: string): boolean {
  return !BAD_VALUE.test(value);
}

function assertSafeValue(name: string, value: string): void {
  if (!isSafeValue(value)) throw new UnsafeRequestError(`a forbidden character in ${name}`);
}

export function assertSafeHeaders(headers: HeaderList): void {
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    assertSafeName(name);
    assertSafeValue(name, headers[i + 1] as string);
  }
}

/** The connection then carries the sender's identity, so no other client may use it afterwards. */
export function hasConnectionAuth(headers: HeaderList): boolean {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] === 'authorization' && REQUEST_CONNECTION_AUTH.test(headers[i + 1] as string)) return true;
  }
  return false;
}

/** Methods that change nothing (RFC 9110 §9.2.1). */
export function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

/** Methods that may be sent twice (RFC 9110 §9.2.2). */
export function isIdempotent(method: string): boolean {
  return method !== 'POST' && method !== 'PATCH' && (METHODS.has(method) || method === 'TRACE');
}

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
const RESPONSE_CONNECTION_AUTH = /(?:^|[\s,])(?:ntlm|negotiate)(?:[\s,]|$)/i;

interface Http2ResponseHeaders {
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
    if (found.kind === 'www-authenticate') hasConnectionAuth ||= RESPONSE_CONNECTION_AUTH.test(value);
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

/** Keyed by the list itself: its creator promises not to change it. */
const LINES = new WeakMap<HeaderList, string>();

/**
 * Headers that accompany many requests, such as the logged-in user, as HTTP/1.1 lines. They are checked and serialized
 * once per list, since they can be longer than the rest of the request. Throws `UnsafeRequestError` on every call for
 * an unsafe list.
 */
export function standingLines(list: HeaderList): string {
  let lines = LINES.get(list);
  if (lines === undefined) {
    lines = '';
    for (let i = 0; i < list.length; i += 2) {
      const name = list[i] as string;
      const value = list[i + 1] as string;
      assertSafeName(name);
      assertSafeValue(name, value);
      lines += `${name}: ${value}\r\n`;
    }
    LINES.set(list, lines);
  }
  return lines;
}

/**
 * The complete head of a request. Throws `UnsafeRequestError` on anything that could end a line or contradict the
 * framing.
 */
export function http1RequestHead(request: UpstreamRequest): string {
  assertSafeRequest(request);
  const { headers } = request;
  let head = `${request.method} ${request.target} HTTP/1.1\r\nhost: ${request.authority}\r\n`;
  let cookies = '';
  let wantsTrailers = false;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    const value = headers[i + 1] as string;
    assertSafeName(name);
    assertSafeValue(name, value);
    // RFC 9113 §8.2.3: HTTP/2 clients split cookies into crumbs; HTTP/1.1 requires one header.
    if (name === 'cookie') cookies = cookies === '' ? value : `${cookies}; ${value}`;
    else if (name === 'te') wantsTrailers ||= value === 'trailers';
    else head += `${name}: ${value}\r\n`;
  }
  for (const list of request.standing ?? []) head += standingLines(list);
  if (cookies !== '') head += `cookie: ${cookies}\r\n`;
  return `${head}${connectionLines(request.switchTo, wantsTrailers)}${framingLines(request)}\r\n`;
}

function connectionLines(switchTo: string | null, wantsTrailers: boolean): string {
  if (switchTo !== null) {
    assertSafeValue('upgrade', switchTo);
    return `connection: upgrade\r\nupgrade: ${switchTo}\r\n`;
  }
  return wantsTrailers ? 'connection: te\r\nte: trailers\r\n' : '';
}

function framingLines({ method, body }: UpstreamRequest): string {
  if (body.framing === 'none') {
    // RFC 9110 §8.6: methods that expect a body announce an empty one.
    return method === 'POST' || method === 'PUT' || method === 'PATCH' ? 'content-length: 0\r\n' : '';
  }
  const framing = body.framing === 'length' ? `content-length: ${body.bytes}\r\n` : 'transfer-encoding: chunked\r\n';
  return body.expectsContinue ? `${framing}expect: 100-continue\r\n` : framing;
}

/** The end of a chunked body. Trailers arrive from the client while its body is being sent: unsafe ones are dropped. */
export function lastChunk(trailers: HeaderList): string {
  let lines = '0\r\n';
  for (let i = 0; i < trailers.length; i += 2) {
    const name = trailers[i] as string;
    const value = trailers[i + 1] as string;
    if (isToken(name) && isAllowedInTrailers(name) && isSafeValue(value)) lines += `${name}: ${value}\r\n`;
  }
  return `${lines}\r\n`;
}
