import { EventEmitter } from 'node:events';
import type { Http2Stream, ServerHttp2Stream } from 'node:http2';
import { type ListenerOwner, reportBug } from '../../../kit/guarded-listeners.ts';
import { type HeaderList, HOP_BY_HOP } from '../../../kit/http/header-values.ts';
import { failStream, readMore, type StreamTaker, takerOf, takeStream } from '../../../kit/http2/stream-end.ts';
import type { BodySource } from '../../../proxy/upstream/upstream.ts';
import { CLIENT_ADDRESS_HEADER, TUNNEL_HEADER } from '../../protocol/protocol.ts';

/**
 * The body of a gateway's request, for `BodySender`: `data`, then `end`, or `close` when it is cut off. It starts
 * paused, and holds what arrives meanwhile; the window of the stream bounds that.
 */
class ServedBody extends EventEmitter implements BodySource {
  readableEnded = false;
  destroyed = false;
  /** Asks the stream for more data. */
  readonly #readMore: () => void;
  #isFlowing = false;
  #held: Buffer[] = [];
  /** END_STREAM has arrived. Data may be held. */
  #isWhole = false;

  constructor(readMore: () => void) {
    super();
    this.#readMore = readMore;
  }

  get isWhole(): boolean {
    return this.#isWhole;
  }

  pause(): void {
    this.#isFlowing = false;
  }

  resume(): void {
    if (this.#isFlowing) return;
    this.#isFlowing = true;
    while (this.#isFlowing) {
      const chunk = this.#held.shift();
      if (chunk === undefined) break;
      this.emit('data', chunk);
    }
    if (!this.#isFlowing) return;
    if (this.#isWhole) this.#end();
    else if (!this.destroyed) this.#readMore();
  }

  /** False: no more until it asks. */
  add(chunk: Buffer): boolean {
    if (this.#isFlowing) this.emit('data', chunk);
    else this.#held.push(chunk);
    return this.#isFlowing;
  }

  /** No more data follows. */
  whole(): void {
    if (this.#isWhole) return;
    this.#isWhole = true;
    if (this.#isFlowing) this.#end();
  }

  /** The stream has closed. */
  closed(): void {
    this.destroyed = true;
    this.#held = [];
    this.emit('close');
  }

  /** Nobody reads it any longer. */
  drop(): void {
    this.#isFlowing = true;
    this.#held = [];
    if (!this.destroyed) this.#readMore();
  }

  #end(): void {
    if (this.readableEnded) return;
    this.readableEnded = true;
    this.emit('end');
  }
}

/** Serves a request; what it throws goes to its `contain`. */
export interface ServedStreamOwner extends ListenerOwner {
  /** The response can go on. */
  onDrain(): void;
  /** The response has ended, and its trailers can be sent. */
  onTrailersWanted(): void;
  onClosed(): void;
}

/**
 * The stream of a gateway's request, without listeners and without the runtime's buffer for readers: see `takeStream`.
 * Requests that switch protocols, and connections, are not served like this: their streams are spliced.
 */
export class ServedStream implements StreamTaker {
  /** Null until its tunnel is known. */
  owner: ServedStreamOwner | null = null;
  /** Null: the request has none. */
  readonly body: ServedBody | null;
  trailers: HeaderList = [];
  readonly #stream: ServerHttp2Stream;
  readonly #onClosed: () => void;

  constructor(stream: ServerHttp2Stream, onClosed: () => void) {
    this.#stream = stream;
    this.#onClosed = onClosed;
    this.body = stream.endAfterHeaders ? null : new ServedBody(() => readMore(stream));
  }

  contain(error: unknown): void {
    if (this.owner === null) {
      reportBug(error, { part: 'gateway stream' });
      failStream(this.#stream);
    } else this.owner.contain(error);
  }

  onEvent(_stream: Http2Stream, event: string | symbol, _fields: unknown, _flags: unknown, raw: unknown): boolean {
    switch (event) {
      case 'drain':
        this.owner?.onDrain();
        return true;
      case 'trailers':
        this.trailers = raw as HeaderList;
        return true;
      case 'wantTrailers':
        this.owner?.onTrailersWanted();
        return true;
      case 'close':
        this.#onClosed();
        this.owner?.onClosed();
        this.body?.closed();
        return false;
      default:
        // An error is followed by `close`.
        return event === 'error';
    }
  }

  onData(_stream: Http2Stream, chunk: Buffer): boolean {
    return this.body?.add(chunk) !== false;
  }

  /** The event with trailers follows the end of data, in the next tick. */
  onEnd(): void {
    if (this.body !== null) process.nextTick(endOf, this);
  }

  ended(): void {
    try {
      this.body?.whole();
    } catch (error) {
      this.contain(error);
    }
  }
}

/** `onClosed` is called before the owner learns about it. */
export function takeRequest(stream: ServerHttp2Stream, onClosed: () => void): void {
  takeStream(stream, new ServedStream(stream, onClosed));
  // Reads even if there is no data: the runtime resets a stream that has responded and was never read.
  readMore(stream);
}

/** Null: the stream has listeners. */
export function servedStreamOf(stream: ServerHttp2Stream): ServedStream | null {
  const taker = takerOf(stream);
  return taker instanceof ServedStream ? taker : null;
}

/** Nobody needs the rest of the request. */
export function discardRest(stream: ServerHttp2Stream): void {
  const served = servedStreamOf(stream);
  if (served === null) stream.resume();
  else served.body?.drop();
}

/** One function for all streams: a closure each would cost time in every request. */
function endOf(served: ServedStream): void {
  served.ended();
}

/** The request that a gateway stream carries. */
export interface RequestReading {
  readonly method: string;
  readonly path: string;
  readonly authority: string;
  /** `:protocol` of an extended CONNECT (RFC 8441). */
  readonly protocol: string | null;
  readonly tunnelId: string | null;
  readonly clientAddress: string;
  /** Headers forwarded to the local service: without framing, and without those between gateway and agent. */
  readonly headers: readonly string[];
  /** Null when no length was announced. */
  readonly contentLength: number | null;
  readonly expectsContinue: boolean;
}

/**
 * Specific to this connection, or computed again. The gateway sends TE only as "trailers", which gRPC services need.
 */
const NOT_FORWARDED: ReadonlySet<string> = new Set(['host', ...HOP_BY_HOP.filter((name) => name !== 'te')]);
const CONTENT_LENGTH = /^(?:0|[1-9][0-9]{0,14})$/;

/** Null when the request contradicts itself. */
export function readRequest(raw: readonly string[]): RequestReading | null {
  const headers: string[] = [];
  let [method, path, authority, clientAddress] = ['', '', '', ''];
  let protocol: string | null = null;
  let tunnelId: string | null = null;
  let length: string | null = null;
  let expectsContinue = false;
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string;
    const value = raw[at + 1] as string;
    if (name === ':method') method = value;
    else if (name === ':path') path = value;
    else if (name === ':authority') authority = value;
    else if (name === ':protocol') protocol = value;
    else if (name === TUNNEL_HEADER) tunnelId = value;
    else if (name === CLIENT_ADDRESS_HEADER) clientAddress = value;
    else if (name === 'expect') expectsContinue = value.toLowerCase() === '100-continue';
    else if (name === 'content-length') {
      if (length !== null || !CONTENT_LENGTH.test(value)) return null;
      length = value;
    } else if (!name.startsWith(':') && !NOT_FORWARDED.has(name)) headers.push(name, value);
  }
  const contentLength = length === null ? null : Number(length);
  return { method, path, authority, protocol, tunnelId, clientAddress, headers, contentLength, expectsContinue };
}

/** Only the agent itself may send these headers to the gateway. */
export function withoutTunnelHeaders(headers: readonly string[]): readonly string[] {
  let kept: string[] | null = null;
  for (let at = 0; at < headers.length; at += 2) {
    const isOurs = (headers[at] as string).startsWith('postern-');
    if (isOurs && kept === null) kept = headers.slice(0, at);
    else if (!isOurs) kept?.push(headers[at] as string, headers[at + 1] as string);
  }
  return kept ?? headers;
}
