import type { ServerHttp2Stream } from 'node:http2';
import { listen } from '../../../kit/guarded-listeners.ts';
import type { HeaderList } from '../../../kit/http/header-values.ts';
import type { Http1RequestStart } from './http1-request.ts';
import type { Http2ResponseWriter } from './http2-response-writer.ts';
import { TOO_LARGE } from './incoming-request.ts';
import type { DroppedHeaders, HeadReading, RawHead } from './request-head.ts';

/** For both protocols. */
export const HEAD_TOO_LARGE: HeadReading = {
  ok: false,
  code: 'ERR_POSTERN_HEADERS_TOO_LARGE',
  message: 'its headers are too large or too many',
};

const COLON = 58;

export function http1Head(
  { method, target, headers }: Http1RequestStart,
  hasUpgrade: boolean,
  absoluteScheme: 'http' | 'https',
  isFromProxy: boolean,
): RawHead {
  return {
    method,
    target,
    httpVersion: 1,
    absoluteScheme,
    rawHeaders: headers,
    authority: null,
    protocol: null,
    hasUpgrade,
    isFromProxy,
  };
}

/**
 * From the list alone: the runtime's object of the same headers is a dictionary, whose lookups took 2 % of a request.
 */
export function http2Head(raw: readonly string[], isFromProxy: boolean): RawHead {
  let method = '';
  let target = '';
  let authority: string | null = null;
  let protocol: string | null = null;
  let at = 0;
  // RFC 9113 §8.3: before all others, each at most once; the runtime enforces it.
  for (; at < raw.length; at += 2) {
    const name = raw[at] as string;
    if (name.charCodeAt(0) !== COLON) break;
    const value = raw[at + 1] as string;
    if (name === ':method') method = value;
    else if (name === ':path') target = value;
    else if (name === ':authority') authority = value;
    else if (name === ':protocol') protocol = value;
  }
  return {
    method,
    target,
    httpVersion: 2,
    absoluteScheme: 'https',
    rawHeaders: withOneCookie(raw, at),
    authority,
    protocol,
    hasUpgrade: false,
    isFromProxy,
  };
}

/**
 * The headers after the pseudo headers. Clients of HTTP/2 send each cookie in a field of its own (RFC 9113 §8.2.3); as
 * one header they pass every upstream, tunnel and node that accepts the same request over HTTP/1.1.
 */
function withOneCookie(raw: readonly string[], from: number): readonly string[] {
  const headers = raw.slice(from);
  const first = headers.indexOf('cookie');
  if (first === -1 || headers.indexOf('cookie', first + 1) === -1) return headers;
  const others: string[] = [];
  const crumbs: string[] = [];
  let cookieAt = -1;
  for (let at = 0; at < headers.length; at += 2) {
    const value = headers[at + 1] as string;
    if (headers[at] === 'cookie') {
      if (cookieAt === -1) cookieAt = others.push('cookie', '') - 1;
      crumbs.push(value);
    } else others.push(headers[at] as string, value);
  }
  if (cookieAt !== -1) others[cookieAt] = crumbs.join(COOKIE_SEPARATOR);
  return others;
}

/** HTTP/2 needs no length: a body without one is streamed as chunks to an HTTP/1.1 upstream. */
export function withStreamedBody(reading: HeadReading, hasBody: boolean): HeadReading {
  if (!reading.ok || !hasBody || reading.head.contentLength !== null) return reading;
  return { ok: true, head: { ...reading.head, isChunked: true } };
}

interface HeadLimits {
  readonly maxHeaderBytes: number;
  readonly maxHeaderCount: number;
}

const COOKIE_SEPARATOR = '; ';
/**
 * Fields of a request over HTTP/2 with all crumbs of its cookies, which cost time one by one. Browsers keep 180 cookies
 * for a site.
 */
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
function areTrailersTooLarge(raw: HeaderList, { maxHeaderBytes, maxHeaderCount }: HeadLimits): boolean {
  let bytes = 0;
  for (const text of raw) bytes += text.length;
  return bytes >= maxHeaderBytes || raw.length > 2 * maxHeaderCount;
}

/** Collects the trailers of a request; call the result after its body. Trailers that are too large end the request. */
export function trailersOf(
  stream: ServerHttp2Stream,
  writer: Http2ResponseWriter,
  dropped: DroppedHeaders,
  limits: HeadLimits,
): () => HeaderList {
  let trailers: HeaderList = [];
  listen(stream, 'trailers', writer, (_fields: unknown, _flags: number, raw: readonly string[]) => {
    if (areTrailersTooLarge(raw, limits)) writer.onGone(TOO_LARGE);
    else trailers = dropped.forwardableTrailers(raw, writer.method);
  });
  return () => trailers;
}
