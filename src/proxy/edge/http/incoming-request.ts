import type { Duplex, Readable } from 'node:stream';
import type { ListenerOwner } from '../../../kit/guarded-listeners.ts';
import { firstValue, type HeaderList } from '../../../kit/http/header-values.ts';
import type { EdgeErrorCode } from '../errors.ts';
import type { HeadReading } from './request-head.ts';

/** A request of either protocol, before it is known whether it is served. */
export interface IncomingRequest {
  readonly reading: HeadReading;
  readonly writer: ResponseWriter;
  /** Null when there is no body. */
  readonly source: Readable | null;
  readonly trailers: () => HeaderList;
  /** Called once the source has ended: whether the client marked the end of the body. */
  readonly isBodyWhole: () => boolean;
  /** For an error page when the head could not be parsed. */
  readonly accept: string | undefined;
}

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

/** The part of a response that has arrived and that its writer has not got. */
export interface HeldPart {
  readonly heldBytes: number;
}

/**
 * Writes the response of one exchange, over HTTP/1.1 or HTTP/2. Header lists are flat with names in lower case and
 * contain no framing: the writer computes it.
 */
export interface ResponseWriter extends ListenerOwner {
  /** 1xx other than 101. */
  informational(status: number, headers: HeaderList): void;
  /** `bodyBytes` null: only the end will show. */
  head(status: number, headers: HeaderList, bodyBytes: number | null): void;
  /** Returns false when the client cannot accept more; `onDrain` is called when it can. */
  write(chunk: Buffer): boolean;
  /** The same for bytes that are overwritten after the call. Absent: the caller copies them. */
  writeBorrowed?(chunk: Buffer): boolean;
  end(trailers: HeaderList): void;
  /** Head, body and end in one call: for responses of the edge itself. */
  answer(status: number, headers: HeaderList, body: Buffer): void;
  /** The upstream agreed to switch protocols: the client's raw bytes, both ways. */
  acceptSwitch(status: number, headers: HeaderList): Duplex;
  /** Whether the client would take a response with this status for agreement to switch: over HTTP/2 (RFC 8441 §5). */
  wouldOpen(status: number): boolean;
  /** Ends the exchange so that the client notices a truncated response. */
  cut(): void;
  readonly isHeadSent: boolean;
  /** The client can no longer receive a response. */
  readonly isGone: boolean;
  /** Whose response it is, by `ClientAddresses`. */
  clientAddress?: string;
  /** Null: the writer has got everything. */
  sender?: HeldPart | null;
  /** A header that a final response gets unless it has one of this name; empty: none. */
  ownHeader: HeaderList;
  onDrain: () => void;
  /** The client disconnected before the end, or must be disconnected: then with the reason. */
  onGone: (problem?: RequestProblem) => void;
  /** A listener of the client's side threw. */
  onBug: (error: unknown) => void;
}

export const NO_HEADERS: HeaderList = [];

/** Adds the edge's own header (name and value) to a response that does not have it: two would contradict each other. */
export function withOwnHeader(headers: HeaderList, own: HeaderList): HeaderList {
  const [name] = own;
  return name === undefined || firstValue(headers, name) !== undefined ? headers : [...headers, ...own];
}
