import { messageOf } from '../lib/error-text.ts';
import { HeadTooLargeError } from '../lib/http2/heads.ts';
import { RequestTooLargeError, UnsafeRequestError } from './request-headers.ts';
import type { UpstreamFailure } from './upstream.ts';
import { codeOf, failed } from './upstream-failure.ts';

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
