import type { Duplex } from 'node:stream';
import type { ListenerOwner } from '../../lib/guarded-listeners.ts';
import type { HeaderList } from '../../upstream/upstream.ts';
import type { RequestProblem } from './request-problem.ts';

/**
 * The client's side of one exchange, the same for HTTP/1.1 and HTTP/2: what the edge answers goes out here. Header lists are
 * flat with names in lower case and hold no framing: the port computes it.
 */
export interface ClientPort extends ListenerOwner {
  /** 1xx other than 101. */
  informational(status: number, headers: HeaderList): void;
  /** `bodyBytes` null: only the end will tell. */
  head(status: number, headers: HeaderList, bodyBytes: number | null): void;
  /** Answers false when the client cannot take more; `onDrain` is called when it can again. */
  write(chunk: Buffer): boolean;
  end(trailers: HeaderList): void;
  /** Head, body and end in one: for answers of the edge's own. */
  answer(status: number, headers: HeaderList, body: Buffer): void;
  /** The upstream agreed to switch protocols: the client's raw bytes, both ways. */
  acceptSwitch(status: number, headers: HeaderList): Duplex;
  /** Ends the exchange so that the client notices that it is not whole. */
  cut(): void;
  readonly isHeadSent: boolean;
  onDrain: () => void;
  /** The client went away before the end, or has to: then with the reason. */
  onGone: (problem?: RequestProblem) => void;
  /** A listener of the client's side threw. */
  onBug: (error: unknown) => void;
}
