import { type ClientHttp2Stream, constants } from 'node:http2';
import { reportBug } from '../lib/bug-report.ts';
import { messageOf } from '../lib/error-text.ts';
import { ignoreErrors, type ListenerOwner, listen, listenOnce } from '../lib/guarded-listeners.ts';
import type { HeaderList } from '../lib/http/header-list.ts';
import { sendTrailers } from '../lib/http2/heads.ts';
import { hasStreamEnd, watchStreamEnd } from '../lib/http2/stream-end.ts';
import { bufferPassed } from '../lib/net/passing-buffers.ts';
import type { Carried, Carrier } from './carrier.ts';
import { sendableTrailers } from './http2-headers.ts';

/** The view of a session that one of its streams needs. */
export interface CarrierLink {
  /** Ends a stream early, with CANCEL. */
  reset(stream: ClientHttp2Stream): void;
  /** The runtime has reset a stream, because its response is invalid. Absent: the number of resets is not limited. */
  countReset?(): void;
  /** A stream has ended, for any reason. */
  release(): void;
}

export interface Http2CarrierParts {
  readonly stream: ClientHttp2Stream;
  readonly link: CarrierLink;
  readonly hasBody: boolean;
  readonly carried: Carried;
}

const NO_TRAILERS: HeaderList = [];
/** For a malformed response and for one with too many headers. The peer may also have sent them, which is rare. */
const RUNTIME_RESETS: ReadonlySet<number> = new Set([
  constants.NGHTTP2_PROTOCOL_ERROR,
  constants.NGHTTP2_ENHANCE_YOUR_CALM,
]);
type Head = Readonly<Record<string, unknown>>;

/** One stream of a session. */
export class Http2Carrier implements Carrier, ListenerOwner {
  readonly #stream: ClientHttp2Stream;
  readonly #link: CarrierLink;
  /** Null once it is over: the runtime keeps some streams, and this object with them, for a long time. */
  #carried: Carried | null;
  #requestTrailers = NO_TRAILERS;
  #trailers = NO_TRAILERS;

  /** The stream must be new. Each listener costs time in every request; these capture nothing but the carrier. */
  constructor({ stream, link, hasBody, carried }: Http2CarrierParts) {
    this.#stream = stream;
    this.#link = link;
    this.#carried = carried;
    watchStreamEnd(stream);
    listen(stream, 'headers', this, (head: Head, _flags: number, raw: HeaderList) =>
      this.#carried?.onInformational(Number(head[':status']), raw),
    );
    listen(stream, 'response', this, (head: Head, flags: number, raw: HeaderList) =>
      this.#onResponse(Number(head[':status']), flags, raw),
    );
    listen(stream, 'data', this, (chunk: Buffer) => this.#onData(chunk));
    listen(stream, 'end', this, () => this.#onEnd());
    // The cause is known at 'close'.
    ignoreErrors(stream);
    listen(stream, 'close', this, () => this.#onClose());
    if (!hasBody) return;
    listen(stream, 'drain', this, () => this.#carried?.onDrain());
    listen(stream, 'wantTrailers', this, () => this.#sendTrailers());
  }

  write(chunk: Buffer): boolean {
    return this.#stream.write(chunk);
  }

  end(trailers: HeaderList): void {
    this.#requestTrailers = trailers;
    this.#stream.end();
  }

  resume(): void {
    this.#stream.resume();
  }

  letGo(isReset: boolean): void {
    this.#carried = null;
    if (isReset) this.#link.reset(this.#stream);
    // Data left in its buffers would keep the stream alive, with its share of the session's window.
    this.#stream.resume();
    this.#link.release();
  }

  /** The listeners stay: they do nothing any longer, and the new owner may attach its own after the peer resets. */
  giveAway(onClosed: () => void): ClientHttp2Stream {
    const stream = this.#stream;
    this.#carried = null;
    stream.pause();
    listenOnce(stream, 'close', this, () => {
      this.#link.release();
      onClosed();
    });
    return stream;
  }

  /** The session is shared with other streams, which are not affected. */
  contain(error: unknown): void {
    if (this.#carried === null) reportBug(error, { part: 'HTTP/2 upstream stream' });
    else this.#carried.contain(error);
  }

  #onResponse(status: number, flags: number, raw: HeaderList): void {
    const isEnded = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    const bytes = this.#carried?.onResponse(status, raw, isEnded);
    // Where a length was announced, no downstream hop can accept trailers.
    if (bytes !== null || this.#carried === null) return;
    listen(this.#stream, 'trailers', this, (_fields: unknown, _flags: number, trailers: HeaderList) => {
      this.#trailers = trailers;
    });
  }

  #onData(chunk: Buffer): void {
    bufferPassed(chunk.length);
    if (this.#carried?.onData(chunk) === false) this.#stream.pause();
  }

  /**
   * A truncated stream also emits 'end'; 'close' tells the difference. A stream reset after its end (RFC 9113 §8.1) is
   * complete. The runtime enforces Content-Length.
   */
  #onEnd(): void {
    if (hasStreamEnd(this.#stream)) this.#carried?.onEnd(this.#trailers);
  }

  #onClose(): void {
    const { rstCode, errored } = this.#stream;
    if (RUNTIME_RESETS.has(rstCode)) this.#link.countReset?.();
    this.#carried?.onClose(rstCode, errored);
  }

  /** A request that lost its trailers is incomplete and must not look complete. */
  #sendTrailers(): void {
    try {
      sendTrailers(this.#stream, sendableTrailers(this.#requestTrailers));
    } catch (error) {
      this.#carried?.onBodyProblem(`its trailers cannot be sent: ${messageOf(error)}`);
    }
  }
}
