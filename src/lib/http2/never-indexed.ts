import { sensitiveHeaders } from 'node:http2';

/** Ids of one request. */
const NAMES: readonly string[] = ['postern-request-id', 'traceparent'];

/**
 * Marks the headers of an HTTP/2 message whose values never repeat (RFC 7541 §7.1.3). Otherwise nghttp2 adds each value to its table,
 * where it pushes out those that do repeat, and compares the next one with all of them: 2 µs per message.
 */
export function neverIndexed<Headers extends readonly (string | number)[]>(headers: Headers): Headers {
  (headers as unknown as Record<symbol, readonly string[]>)[sensitiveHeaders] = NAMES;
  return headers;
}
