import { type HeaderList, HOP_BY_HOP } from '../lib/http/header-values.ts';
import { isToken } from '../lib/http1/header-names.ts';
import type { UpstreamRequest } from './upstream.ts';

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

/** It has more headers than the connection to the upstream carries. */
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
const CONNECTION_AUTH = /^(?:ntlm|negotiate)(?: |$)/i;

/** Checks the parts of the request line. */
export function assertSafeRequest({ method, target, authority }: UpstreamRequest): void {
  if (!METHODS.has(method)) {
    if (!isToken(method)) throw new UnsafeRequestError('the method is not a token');
    // Its response has neither body nor end, which this client does not support.
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

export function isSafeValue(value: string): boolean {
  return !BAD_VALUE.test(value);
}

export function assertSafeValue(name: string, value: string): void {
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
    if (headers[i] === 'authorization' && CONNECTION_AUTH.test(headers[i + 1] as string)) return true;
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
