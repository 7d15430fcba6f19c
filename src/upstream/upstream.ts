import type { Duplex, Readable } from 'node:stream';

/**
 * The contract between the edge and whatever carries a request to an upstream: a pooled HTTP/1.1 socket, an HTTP/2 session, later a
 * tunnel. Header lists are flat (`[name, value, name, value, …]`, names in lower case) because that is how they come off the wire
 * and go onto it again; framing (`content-length`, `transfer-encoding`, `connection`) is never in them: the carrier computes it.
 */
export type HeaderList = readonly string[];

export interface UpstreamRequest {
  readonly method: string;
  /** Path and query exactly as they are to be sent. */
  readonly target: string;
  /** The Host that the upstream sees. */
  readonly authority: string;
  readonly headers: HeaderList;
  /** More headers, in lists that are used again and never changed: see `standing-headers.ts`. */
  readonly standing?: readonly HeaderList[];
  readonly body: RequestBody;
  /** `websocket`, when the client asked to switch: the handler's `onSwitch` is called instead of `onHead` if the upstream agrees. */
  readonly switchTo: string | null;
}

export type RequestBody =
  | { readonly framing: 'none' }
  | {
      readonly framing: 'length';
      readonly bytes: number;
      readonly source: Readable;
      readonly expectsContinue: boolean;
      /** Told of all bytes that go on, as they do. */
      readonly onBytes?: (count: number) => void;
    }
  /** Length unknown. `isWhole` and `trailers` are asked once the source has ended. */
  | {
      readonly framing: 'chunked';
      readonly source: Readable;
      readonly expectsContinue: boolean;
      readonly onBytes?: (count: number) => void;
      /** Whether the sender said that this is the end (last chunk, END_STREAM): streams of the runtime end when they are cut, too. */
      isWhole(): boolean;
      trailers(): HeaderList;
    };

/** What comes back, in this order: any number of informational heads, one head (or switch), data, the end. Or one failure. */
export interface UpstreamHandler {
  /** 100 (so that the client may send its body), 103 and the like; not 101. */
  onInformational(status: number, headers: HeaderList): void;
  onHead(head: ResponseHead): void;
  /** The upstream agreed to switch protocols; `socket` carries raw bytes both ways from here on. */
  onSwitch(head: ResponseHead, socket: Duplex): void;
  /** Answers false when the client cannot take more for now; then `resume()` is called when it can. */
  onData(chunk: Buffer): boolean;
  onEnd(trailers: HeaderList): void;
  onFailure(failure: UpstreamFailure): void;
  /** Instead of a failure: the carrier itself broke, by a bug. It has freed everything. */
  onBug(error: unknown): void;
}

export interface ResponseHead {
  readonly status: number;
  /** Hop-by-hop headers and framing taken out. */
  readonly headers: HeaderList;
  /** Bytes of the body, 0 when there is none by definition (HEAD, 204, 304), null when only its end will tell. */
  readonly bodyBytes: number | null;
  /** What Content-Length said, also where no body follows it: HEAD and 304 repeat it to the client. Null when it was absent. */
  readonly declaredBytes?: number | null;
}

export interface UpstreamFailure {
  /** `connect`: not reached. `send`: before any byte of an answer. `head`: malformed or too late. `body`: cut off in the middle. */
  readonly phase: 'connect' | 'send' | 'head' | 'body';
  /** Stable word for logs and metrics, such as `refused`, `timeout`, `tls`, `malformed`, `closed`, `dns`, `forbidden_address`. */
  readonly reason: string;
  /** In words, without secrets, for the operator's log. */
  readonly message: string;
  /** False only when it is certain that the upstream got no byte of the request: then it may be sent elsewhere. */
  readonly mayHaveBeenSent: boolean;
  /** It was safe (RFC 9110 §9.2.1), and no byte of an answer came: it may be sent elsewhere all the same. */
  readonly isSafe?: boolean;
  /** Through a tunnel: where its agent could not reach the service, in the agent's words. */
  readonly agentAddress?: string;
}

/** A request under way. */
export interface UpstreamExchange {
  /** The client can take data again. */
  resume(): void;
  /** The client went away, or the request is refused: the carrier frees everything. No further call to the handler. */
  abort(): void;
}

/** One address (or session) that requests can be sent to. */
export interface Upstream {
  send(request: UpstreamRequest, handler: UpstreamHandler): UpstreamExchange;
  /** No new requests; those under way finish. Resolves when the last has. */
  drain(): Promise<void>;
  /** For metrics. */
  stats(): { readonly idle: number; readonly active: number };
}

export interface UpstreamLimits {
  readonly connectTimeoutMs: number;
  /** From the last byte of the request to the first of the answer. */
  readonly responseTimeoutMs: number;
  /** Without a byte either way while a body is under way. */
  readonly idleTimeoutMs: number;
  /** How long an unused connection is kept. */
  readonly keepAliveMs: number;
  readonly maxIdleConnections: number;
  readonly maxHeaderBytes: number;
  readonly maxHeaderCount: number;
}
