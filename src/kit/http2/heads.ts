import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionRequestOptions,
  type Http2Session,
  type Http2Stream,
  type ServerHttp2Stream,
  type ServerStreamResponseOptions,
  sensitiveHeaders,
} from 'node:http2';
import type { HeaderList } from '../http/header-values.ts';

/**
 * The only way to send heads of exchanges on connections that others share. A head that the runtime cannot send closes
 * the whole session (`frameError`), and one that nghttp2 cannot read ends it at the receiver, so the sender checks:
 *
 * - nghttp2 reads no string over 64 KB, and no more than 8 CONTINUATION frames of 16 KB after a HEADERS frame;
 * - peers announce what they accept in SETTINGS_MAX_HEADER_LIST_SIZE, and some end the connection beyond it.
 *
 * docs/internals/decisions/0048-limits-of-shared-connections.md has the table.
 */

/** Names and values, with two bytes for each pair. The channel between nodes counts in the same way. */
export const MAX_HEAD_BYTES = 131_072;
/** Including pseudo header fields. */
export const MAX_HEAD_FIELDS = 500;
export const MAX_STRING_BYTES = 65_536;
/** RFC 9113 §6.5.2. */
const LIST_FIELD_BYTES = 32;
/** Announced on connections between programs of ours, so that everything below the limits above passes. */
export const MAX_HEADER_LIST_SIZE = MAX_HEAD_BYTES + MAX_HEAD_FIELDS * LIST_FIELD_BYTES;

/** Above everything that is sent, with the estimate of nghttp2 for a field. Its default of 64 KB closes the session. */
export const MAX_SEND_BLOCK_BYTES = 262_144;

/** The error's code is one of those that mean: this message cannot be sent (`isUnsendable`). */
export class HeadTooLargeError extends Error {
  readonly code = 'ERR_HTTP2_HEAD_TOO_LARGE';
  /** The head is within all limits of ours: only its receiver accepts less. */
  readonly isReceiversLimit: boolean;

  constructor(what: string, isReceiversLimit = false) {
    super(what);
    this.isReceiversLimit = isReceiversLimit;
    this.name = 'HeadTooLargeError';
  }
}

export function sendRequest(
  session: ClientHttp2Session,
  headers: readonly string[],
  options: ClientSessionRequestOptions,
): ClientHttp2Stream {
  assertFits(session, headers);
  return session.request(headers, options);
}

export function sendResponse(
  stream: ServerHttp2Stream,
  headers: readonly string[],
  options?: ServerStreamResponseOptions,
): void {
  assertFits(stream.session, headers);
  stream.respond(headers as string[], options);
}

/** `headers` begin with the status. */
export function sendInformational(stream: ServerHttp2Stream, headers: HeaderList): void {
  assertFits(stream.session, headers);
  stream.additionalHeaders(headerObject(headers));
}

export function sendTrailers(stream: Http2Stream, trailers: HeaderList): void {
  assertFits(stream.session, trailers);
  stream.sendTrailers(headerObject(trailers));
}

/** Names and values, with two bytes for each pair. */
export function headBytes(list: HeaderList): number {
  let bytes = list.length;
  for (let at = 0; at < list.length; at += 1) bytes += (list[at] as string).length;
  return bytes;
}

function assertFits(session: Http2Session | undefined, list: HeaderList): void {
  const announced = session?.remoteSettings.maxHeaderListSize ?? Number.POSITIVE_INFINITY;
  const count = list.length / 2;
  let bytes = 0;
  for (let at = 0; at < list.length; at += 1) {
    const { length } = list[at] as string;
    if (length > MAX_STRING_BYTES) throw new HeadTooLargeError(`a header of ${length} bytes`);
    bytes += length;
  }
  if (bytes + list.length > MAX_HEAD_BYTES) throw new HeadTooLargeError(`${bytes} bytes of headers`);
  if (count > MAX_HEAD_FIELDS) throw new HeadTooLargeError(`${count} headers`);
  if (bytes + LIST_FIELD_BYTES * count > announced)
    throw new HeadTooLargeError(`${bytes} bytes of headers, for a receiver that accepts ${announced}`, true);
}

/**
 * For runtime functions that take an object: each name with the list of its values. No prototype, because a client may
 * send `constructor` or `__proto__` as a name.
 */
export function headerObject(list: HeaderList): Record<string, string[]> {
  const result: Record<string, string[]> = Object.create(null);
  for (let at = 0; at < list.length; at += 2) {
    const name = list[at] as string;
    const values = result[name];
    if (values === undefined) result[name] = [list[at + 1] as string];
    else values.push(list[at + 1] as string);
  }
  return result;
}

/** Ids of one request. */
const NAMES: readonly string[] = ['postern-request-id', 'traceparent'];

/**
 * Marks the headers of an HTTP/2 message whose values never repeat (RFC 7541 §7.1.3). Otherwise nghttp2 adds each value
 * to its table, where it pushes out those that do repeat, and compares the next one with all of them: 2 µs per message.
 */
export function neverIndexed<Headers extends readonly (string | number)[]>(headers: Headers): Headers {
  (headers as unknown as Record<symbol, readonly string[]>)[sensitiveHeaders] = NAMES;
  return headers;
}
