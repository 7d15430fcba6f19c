import type { ClientHttp2Stream } from 'node:http2';
import type { HeaderList } from '../lib/http/header-values.ts';

/** What carries one request and its response: an HTTP/2 stream, or a place in the channel between two nodes. */
export interface Carrier {
  /** False: no more until `Carried.onDrain`. */
  write(chunk: Buffer): boolean;
  /** Ends the body of the request. */
  end(trailers: HeaderList): void;
  /** After `Carried.onData` has returned false. */
  resume(): void;
  /** What has arrived of the response and waits for the client. */
  readonly heldBytes: number;
  /** Nobody needs the rest of the response; with `isReset` the other end is asked to stop. `Carried` is not called again. */
  letGo(isReset: boolean): void;
  /** The stream, which has switched protocols, for another owner. `Carried` is not called again, but `onClosed` is. */
  giveAway(onClosed: () => void): ClientHttp2Stream;
}

/** Receives what a carrier brings. `raw` lists have names and values in turn. What it throws goes to `contain`. */
export interface Carried {
  onInformational(status: number, raw: HeaderList): void;
  /** The other node has taken the request, and wants its body. */
  onBodyWanted(): void;
  /** The main thread passes the request on by this node. */
  onNode?(name: string): void;
  /** Returns the length of the body, as far as the head determines it; otherwise null. */
  onResponse(status: number, raw: HeaderList, isEnded: boolean): number | null;
  /** False: no more until `Carrier.resume`. */
  onData(chunk: Buffer): boolean;
  /** The response is complete. */
  onEnd(trailers: HeaderList): void;
  onDrain(): void;
  /** The request cannot be completed. */
  onBodyProblem(message: string): void;
  /** It ended before it was complete. `code` is that of HTTP/2. */
  onClose(code: number, error: Error | null): void;
  contain(error: unknown): void;
}

/** A cheaper way than an HTTP/2 stream for each request; it cannot switch protocols. */
export interface RequestChannel {
  /** Throws like `StreamLink.request`; then nothing has started. */
  open(headers: HeaderList, options: ChannelRequest, carried: Carried): Carrier;
}

export interface ChannelRequest {
  readonly hasBody: boolean;
  readonly mayHaveTrailers: boolean;
  /** It was lost on another way: the main thread does not repeat it. */
  readonly isRepeat?: boolean;
  /** The address that is counted for it. */
  readonly visitor?: string | undefined;
}
