import type { EventEmitter } from 'node:events';
import type { ClientHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { HeaderList } from '../../kit/http/header-values.ts';

/**
 * The contract between the edge and an upstream client: a pooled HTTP/1.1 socket, an HTTP/2 session, or a tunnel.
 */
export interface UpstreamRequest {
  readonly method: string;
  /** Path and query exactly as sent. */
  readonly target: string;
  /** The Host that the upstream sees. */
  readonly authority: string;
  readonly headers: HeaderList;
  /** Further headers, in shared lists that never change: see `standingLines`. */
  readonly standing?: readonly HeaderList[];
  readonly body: RequestBody;
  /** `websocket` when the client asked to switch: `onSwitch` is called instead of `onHead` if the upstream agrees. */
  readonly switchTo: string | null;
  /** Where the upstream client notes the route that the request took; for logs. */
  readonly routeTaken?: RouteTaken;
  /** The address of the client, which shares scarce things with others. Absent: it is not known, and has no share. */
  readonly visitor?: string;
  /** The trace for another node that passes the request on to its agent. Absent: it records nothing. */
  readonly hopTrace?: string;
}

export interface RouteTaken {
  /** Name of the node that passed the request on to its agent; null when no other node was involved. */
  tunnelNode: string | null;
  /** Counts the request when it has ended; null for an upstream that nobody counts. */
  counter: TrafficCounter | null;
}

export interface TrafficCounter {
  ended(bytesIn: number, bytesOut: number): void;
}

/** Emits `data`, then `end`, or `error` or `close` when it is cut off: a readable stream, or less. */
export interface BodySource extends EventEmitter {
  readonly readableEnded: boolean;
  readonly destroyed: boolean;
  pause(): unknown;
  resume(): unknown;
}

export type RequestBody =
  | { readonly framing: 'none' }
  | {
      readonly framing: 'length';
      readonly bytes: number;
      readonly source: BodySource;
      readonly expectsContinue: boolean;
      /** Called with the number of bytes forwarded, as they are. */
      readonly onBytes?: (count: number) => void;
      /** Called once the source has ended. Absent: a source with all bytes is whole. */
      isWhole?(): boolean;
    }
  /** Length unknown. `isWhole` and `trailers` are called once the source has ended. */
  | {
      readonly framing: 'chunked';
      readonly source: BodySource;
      readonly expectsContinue: boolean;
      readonly onBytes?: (count: number) => void;
      /**
       * Whether the sender marked the end (last chunk, END_STREAM): the runtime's streams also end when they are
       * truncated.
       */
      isWhole(): boolean;
      trailers(): HeaderList;
    };

/**
 * The response, in this order: any number of informational heads, one head (or switch), data, the end. Or one failure.
 */
export interface UpstreamHandler {
  /** 100 (so that the client may send its body), 103 and similar; not 101. */
  onInformational(status: number, headers: HeaderList): void;
  onHead(head: ResponseHead): void;
  /** The upstream agreed to switch protocols; `socket` carries raw bytes both ways from here on. */
  onSwitch(head: ResponseHead, socket: Duplex): void;
  /** Returns false when the client cannot accept more for now; `resume()` is called when it can. */
  onData(chunk: Buffer): boolean;
  /** The same for bytes that are overwritten after the call. Absent: the upstream client copies them for `onData`. */
  onBorrowedData?(chunk: Buffer): boolean;
  onEnd(trailers: HeaderList): void;
  onFailure(failure: UpstreamFailure): void;
  /** Instead of a failure: the upstream client itself has a bug. It has released everything. */
  onBug(error: unknown): void;
}

export interface ResponseHead {
  readonly status: number;
  /** Without hop-by-hop headers and framing. */
  readonly headers: HeaderList;
  /** Bytes of the body, 0 when there is none by definition (HEAD, 204, 304), null when only its end will show. */
  readonly bodyBytes: number | null;
  /**
   * The value of Content-Length, even where no body follows: HEAD and 304 repeat it to the client. Null when absent.
   */
  readonly declaredBytes?: number | null;
}

export interface UpstreamFailure {
  /**
   * `connect`: not reached. `send`: before any byte of a response. `head`: malformed or too late. `body`: truncated.
   */
  readonly phase: 'connect' | 'send' | 'head' | 'body';
  /**
   * Stable value for logs and metrics, such as `refused`, `timeout`, `tls`, `malformed`, `closed`, `dns`,
   * `forbidden_address`.
   */
  readonly reason: string;
  /** For the operator's log, without secrets. */
  readonly message: string;
  /** False only when the upstream certainly received no byte of the request: then it may be sent elsewhere. */
  readonly mayHaveBeenSent: boolean;
  /** The method was safe (RFC 9110 §9.2.1), and no byte of a response arrived: it may be sent elsewhere even so. */
  readonly isSafe?: boolean;
  /** The upstream ended the connection without having read the whole request: many services reject an upload so. */
  readonly isUnread?: boolean;
  /** The client accepted no more of the response. */
  readonly isHeldBack?: boolean;
  /** Through a tunnel: the service's address as reported by the agent that could not reach it. */
  readonly agentAddress?: string;
}

/** A request in progress. */
export interface UpstreamExchange {
  /** The client can accept data again. */
  resume(): void;
  /** What has arrived of the response and waits for the client. */
  readonly heldBytes: number;
  /** The client went away, or the request is rejected: releases everything. The handler is not called again. */
  abort(): void;
}

/** One address (or session) that receives requests. */
export interface Upstream {
  send(request: UpstreamRequest, handler: UpstreamHandler): UpstreamExchange;
  /** Accepts no new requests; those in progress finish. Resolves when the last one has. */
  drain(): Promise<void>;
  /** For metrics. */
  stats(): { readonly idle: number; readonly active: number };
}

export interface UpstreamLimits {
  readonly connectTimeoutMs: number;
  /** From the last byte of the request to the first byte of the response. */
  readonly responseTimeoutMs: number;
  /** Maximum time without a byte in either direction while a body is in progress. */
  readonly idleTimeoutMs: number;
  /** How long an idle connection is kept. */
  readonly keepAliveMs: number;
  readonly maxIdleConnections: number;
  readonly maxHeaderBytes: number;
  readonly maxHeaderCount: number;
}

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
  /**
   * Nobody needs the rest of the response; with `isReset` the other end is asked to stop. `Carried` is not called
   * again.
   */
  release(isReset: boolean): void;
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
  /** The exchange ended before it was complete. `code` is that of HTTP/2. */
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
  /** The request was lost on another way: the main thread does not repeat it. */
  readonly isRepeat?: boolean;
  /** The address that is counted for it. */
  readonly visitor?: string | undefined;
}

/**
 * Informational responses before a final one, on every way to an upstream. Go's client stops at 5; a legitimate
 * upstream sends a 100, some 103s and a few 102s. Heads are not flow-controlled: without a limit they fill the memory
 * for a client that does not read.
 */
export const MAX_INFORMATIONAL = 20;
