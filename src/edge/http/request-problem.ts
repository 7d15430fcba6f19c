import type { EdgeErrorCode } from '../errors.ts';

/** A fault of the client that prevents a started request from completing. */
export interface RequestProblem {
  readonly code: EdgeErrorCode;
  /** For log and metrics. */
  readonly reason: string;
  /** Message for the client. */
  readonly message: string;
}

export const TOO_SLOW: RequestProblem = {
  code: 'ERR_POSTERN_REQUEST_TIMEOUT',
  reason: 'request_timeout',
  message: 'it did not arrive in time',
};

/** Appears in logs only: the response has started. */
export const NOT_TAKEN: RequestProblem = {
  code: 'ERR_POSTERN_REQUEST_TIMEOUT',
  reason: 'answer_not_taken',
  message: 'its response was not read in time',
};

/** Appears in logs only: the response has started. */
export const TOO_MUCH_UNSENT: RequestProblem = {
  code: 'ERR_POSTERN_EDGE_OVERLOADED',
  reason: 'response_not_read',
  message: 'too much of its response was waiting for a client that does not read it',
};

export const NOT_READ: RequestProblem = {
  code: 'ERR_POSTERN_EDGE_OVERLOADED',
  reason: 'upload_not_read',
  message: 'too much of it was waiting for an upstream server that does not read it. Try again later',
};

export const BAD_HTTP: RequestProblem = {
  code: 'ERR_POSTERN_BAD_HTTP',
  reason: 'bad_http',
  message: 'it is not well-formed HTTP',
};

export const TOO_LARGE: RequestProblem = {
  code: 'ERR_POSTERN_HEADERS_TOO_LARGE',
  reason: 'headers_too_large',
  message: 'its headers are too large',
};
