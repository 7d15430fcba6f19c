import type { IncomingMessage } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http2';
import type { HeadReading, RawHead } from './request-head.ts';

/** For both protocols. */
export const TOO_LARGE: HeadReading = {
  ok: false,
  code: 'ERR_POSTERN_HEADERS_TOO_LARGE',
  message: 'its headers are too large or too many',
};

/** The runtime's parser accepts any version with a dot. */
export function versionProblem({ httpVersion, headers }: IncomingMessage): string | null {
  if (httpVersion === '1.1') return null;
  if (httpVersion !== '1.0') return 'its version is neither HTTP/1.1 nor HTTP/1.0';
  // RFC 9112 §6.1: such a sender cannot be interpreted reliably.
  return headers['transfer-encoding'] === undefined ? null : 'HTTP/1.0 has no Transfer-Encoding';
}

export function http1Head(
  request: IncomingMessage,
  hasUpgrade: boolean,
  absoluteScheme: 'http' | 'https',
  isFromProxy: boolean,
): RawHead {
  return {
    method: request.method ?? '',
    target: request.url ?? '',
    httpVersion: 1,
    absoluteScheme,
    rawHeaders: request.rawHeaders,
    authority: null,
    protocol: null,
    hasUpgrade,
    isFromProxy,
  };
}

export function http2Head(headers: IncomingHttpHeaders, raw: readonly string[], isFromProxy: boolean): RawHead {
  let end = 0;
  while (end < raw.length && raw[end]?.startsWith(':') === true) end += 2;
  return {
    method: headers[':method'] ?? '',
    target: headers[':path'] ?? '',
    httpVersion: 2,
    absoluteScheme: 'https',
    rawHeaders: raw.slice(end),
    authority: headers[':authority'] ?? null,
    protocol: (headers[':protocol'] as string | undefined) ?? null,
    hasUpgrade: false,
    isFromProxy,
  };
}

/** HTTP/2 needs no length: a body without one is streamed as chunks to an HTTP/1.1 upstream. */
export function withStreamedBody(reading: HeadReading, hasBody: boolean): HeadReading {
  if (!reading.ok || !hasBody || reading.head.contentLength !== null) return reading;
  return { ok: true, head: { ...reading.head, isChunked: true } };
}
