import type { Http2Stream, ServerHttp2Stream } from 'node:http2';
import { reportBug } from '../../lib/bug-report.ts';
import type { ListenerOwner } from '../../lib/guarded-listeners.ts';
import type { HeaderList } from '../../lib/http/header-list.ts';
import { failStream } from '../../lib/http2/reset.ts';
import { readMore, type StreamTaker, takerOf, takeStream } from '../../lib/http2/taken-stream.ts';
import { ServedBody } from './served-body.ts';

/** Serves a request; what it throws goes to its `contain`. */
export interface ServedStreamOwner extends ListenerOwner {
  /** The response can go on. */
  onDrain(): void;
  /** The response has ended, and its trailers can be sent. */
  onTrailersWanted(): void;
  onClosed(): void;
}

/**
 * The stream of a gateway's request, without listeners and without the runtime's buffer for readers: see `takeStream`. Requests that
 * switch protocols, and connections, are not served like this: their streams are spliced.
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
