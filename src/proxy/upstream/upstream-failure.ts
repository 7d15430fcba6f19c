import { messageOf } from '../../kit/error-text.ts';
import { HeadTooLargeError } from '../../kit/http2/heads.ts';
import { RequestTooLargeError, UnsafeRequestError } from './request-headers.ts';
import type { UpstreamFailure } from './upstream.ts';

/** The reason if the body of the request broke off, or does not have its announced length: its sender caused it. */
export const REQUEST_BODY = 'request_body';

/** This process has no file descriptor left for the connection, or only those of its reserve. */
export const TOO_MANY_FILES = 'too_many_files';

/** The reasons if no stream to the agent is left, or none for the address of this visitor. */
export const REASON_OF_SHORTAGE = { full: 'tunnel_full', share: 'tunnel_share' } as const;

/** The reasons if no connection to the upstream is left, or none for the address of this visitor. */
export const UPSTREAM_SHORTAGE = { full: 'upstream_full', share: 'upstream_share' } as const;

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused',
  ECONNRESET: 'reset',
  EPIPE: 'closed',
  ETIMEDOUT: 'timeout',
  ENOTFOUND: 'dns',
  ENODATA: 'dns',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
  EMFILE: TOO_MANY_FILES,
  ENFILE: TOO_MANY_FILES,
  ERR_FORBIDDEN_ADDRESS: 'forbidden_address',
};

/** OpenSSL's verification codes have no common prefix. */
const TLS_CODE = /^(?:ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|INVALID_|CRL_|HOSTNAME_|EPROTO)/;

export function failed(
  phase: UpstreamFailure['phase'],
  reason: string,
  message: string,
  mayHaveBeenSent: boolean,
): UpstreamFailure {
  return { phase, reason, message, mayHaveBeenSent };
}

/** The stable reason for a system or OpenSSL error code. */
export function reasonOf(error: unknown): string {
  const code = codeOf(error);
  const known = REASONS[code];
  if (known !== undefined) return known;
  if (code.startsWith('EAI_')) return 'dns';
  return TLS_CODE.test(code) ? 'tls' : 'failed';
}

/**
 * A system whose program closes a connection with unread bytes resets it; one that has read everything just ends it.
 */
export function isReset(error: unknown): boolean {
  return /^(?:ECONNRESET|EPIPE)$/.test(codeOf(error));
}

/** When every address of a host failed, the first error represents all. */
export function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}

/** The runtime validates outgoing messages and throws: bad characters, connection headers in HTTP/2, status 600. */
const REFUSED = /^ERR_(?:HTTP2?_|INVALID_CHAR$|INVALID_HTTP_TOKEN$)/;
/** The session or stream has ended in the meantime, regardless of the message. */
const IS_OVER = /_(?:SESSION|STREAM|STREAMS)$/;

/** Failure reason when the client's request itself is at fault. */
export const UNSENDABLE_REQUEST = 'unsendable_request';
/** The same, because of its size. */
export const REQUEST_TOO_LARGE = 'request_headers_too_large';
/** The upstream's response has more headers than it may have, or than the connection to the client carries. */
export const RESPONSE_TOO_LARGE = 'headers_too_large';

/** The response is fine, and its client has announced that it accepts less. */
export const CLIENT_LIMIT = 'client_header_limit';

/** The channel to another node has just ended: nothing was sent. */
export class ChannelOverError extends Error {
  constructor() {
    super('the channel to the node has ended');
  }
}

/** Whether an error means that a message from outside cannot be sent. Anything else that is thrown is a bug. */
export function isUnsendable(error: unknown): boolean {
  return error instanceof UnsafeRequestError || error instanceof ChannelOverError || REFUSED.test(codeOf(error));
}

/** The session has ended, or accepts no more streams: nothing was sent. */
export function isSessionOver(error: unknown): boolean {
  if (error instanceof ChannelOverError) return true;
  const code = codeOf(error);
  return REFUSED.test(code) && IS_OVER.test(code);
}

/** `mayHaveBeenSent` is true: no other target receives a request that one could not be sent. */
export function unsendable(error: unknown): UpstreamFailure {
  if (error instanceof RequestTooLargeError) return failed('send', REQUEST_TOO_LARGE, error.message, true);
  if (error instanceof HeadTooLargeError)
    return failed('head', error.isReceiversLimit ? CLIENT_LIMIT : RESPONSE_TOO_LARGE, error.message, true);
  return error instanceof UnsafeRequestError
    ? failed('send', UNSENDABLE_REQUEST, error.message, true)
    : failed('head', 'unsendable', messageOf(error), true);
}

/** The error to throw when the runtime has thrown at a request's head. */
export function requestRefusal(error: unknown): unknown {
  if (error instanceof HeadTooLargeError) return new RequestTooLargeError(error.message);
  const code = codeOf(error);
  return REFUSED.test(code) && !IS_OVER.test(code) ? new UnsafeRequestError(messageOf(error)) : error;
}
