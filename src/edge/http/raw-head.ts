import type { IncomingMessage } from 'node:http';
import type { HeadReading, RawHead } from './request-head.ts';

/** For both protocols. */
export const TOO_LARGE: HeadReading = {
  ok: false,
  code: 'ERR_POSTERN_HEADERS_TOO_LARGE',
  message: 'its headers are too large or too many',
};

const COLON = 58;

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

/** From the list alone: the runtime's object of the same headers is a dictionary, whose lookups took 2 % of a request. */
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
    rawHeaders: raw.slice(at),
    authority,
    protocol,
    hasUpgrade: false,
    isFromProxy,
  };
}

/** HTTP/2 needs no length: a body without one is streamed as chunks to an HTTP/1.1 upstream. */
export function withStreamedBody(reading: HeadReading, hasBody: boolean): HeadReading {
  if (!reading.ok || !hasBody || reading.head.contentLength !== null) return reading;
  return { ok: true, head: { ...reading.head, isChunked: true } };
}
