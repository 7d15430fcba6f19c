import type { Duplex } from 'node:stream';
import type { ListenerOwner } from '../../lib/guarded-listeners.ts';
import type { HeaderList } from '../../lib/http/header-values.ts';
import type { RequestProblem } from './request-problem.ts';

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
