import { type ClientHttp2Stream, constants, type Http2Stream } from 'node:http2';
import { messageOf } from '../../kit/error-text.ts';
import { ignoreErrors, type ListenerOwner, listen, listenOnce, reportBug } from '../../kit/guarded-listeners.ts';
import type { HeaderList } from '../../kit/http/header-values.ts';
import { sendTrailers } from '../../kit/http2/heads.ts';
import { hasStreamEnd, readMore, type StreamTaker, takeStream, watchStreamEnd } from '../../kit/http2/stream-end.ts';
import { aside, bufferPassed, isCrowded } from '../../kit/net/waiting-bytes.ts';
import { sendableTrailers } from './request-headers.ts';
import type { Carried, Carrier } from './upstream.ts';

/** The view of a session that one of its streams needs. */
export interface CarrierLink {
  /** Ends a stream early, with CANCEL. */
  reset(stream: ClientHttp2Stream): void;
  /** The runtime has reset a stream, because its response is invalid. Absent: the number of resets is not limited. */
  countReset?(): void;
  /** The peer has refused a request with ENHANCE_YOUR_CALM. True: another connection may get it. Absent: none may. */
  onCalm?(): boolean;
  /**
   * This much more of a response waits for its client, or less. Absent: nobody counts it. A carrier gives back what it
   * still holds before it calls `release`. Otherwise the session would count it until it closes.
   */
  held?(bytes: number): void;
  /** A stream has ended, for any reason. */
  release(stream: ClientHttp2Stream): void;
}

const NO_TRAILERS: HeaderList = [];
/** Below the smallest window of a stream: a response of this length needs no update of its window. */
const SMALL_BYTES = 65_535;
const { NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_FLAG_END_STREAM, NGHTTP2_NO_ERROR } = constants;
/** For a malformed response and for one with too many headers. The peer may also have sent them, which is rare. */
const RUNTIME_RESETS: ReadonlySet<number> = new Set([constants.NGHTTP2_PROTOCOL_ERROR, NGHTTP2_ENHANCE_YOUR_CALM]);
type Head = Readonly<Record<string, unknown>>;

/**
 * One stream of a session, without listeners and without the runtime's buffer for readers. States: *sent*, *answered*
 * (the head was delivered), perhaps *paused* (`Carried.onData` has returned false: data is held), *over*.
 */
export class Http2Carrier implements Carrier, StreamTaker {
  readonly #stream: ClientHttp2Stream;
  readonly #link: CarrierLink;
  /** Null once it is over: the runtime keeps some streams, and this object with them, for a long time. */
  #carried: Carried | null;
  #hasHead = false;
  #mayHaveTrailers = false;
  #isPaused = false;
  /** Data that waits for the head or for the client. */
  #held: Buffer[] | null = null;
  #heldBytes = 0;
  /** The whole response has arrived. A part of it may be held. */
  #isWhole = false;
  /** The stream has closed before the response was complete, and a part of it is held. */
  #isCut = false;
  #requestTrailers = NO_TRAILERS;
  #trailers = NO_TRAILERS;

  /** The stream must be new. */
  constructor(stream: ClientHttp2Stream, link: CarrierLink, carried: Carried) {
    this.#stream = stream;
    this.#link = link;
    this.#carried = carried;
    takeStream(stream, this);
  }

  /** The rest of a body that the peer no longer reads is dropped: the client may read the response only after it. */
  write(chunk: Buffer): boolean {
    return this.#stream.writable ? this.#stream.write(chunk) : true;
  }

  end(trailers: HeaderList): void {
    this.#requestTrailers = trailers;
    if (this.#stream.writable) this.#stream.end();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    try {
      this.#deliver();
    } catch (error) {
      this.contain(error);
    }
  }

  release(isReset: boolean): void {
    this.#carried = null;
    this.#held = null;
    this.#count(-this.#heldBytes);
    if (isReset) {
      this.#link.reset(this.#stream);
      // Data that still arrives would keep its share of the session's window.
      readMore(this.#stream);
    }
    this.#link.release(this.#stream);
  }

  giveAway(): ClientHttp2Stream {
    throw new Error('a request that switches protocols needs a stream with listeners');
  }

  /** The session is shared with other streams, which are not affected. */
  contain(error: unknown): void {
    if (this.#carried === null) reportBug(error, { part: 'HTTP/2 upstream stream' });
    else this.#carried.contain(error);
  }

  onEvent(_stream: Http2Stream, event: string | symbol, head: unknown, flags: unknown, raw: unknown): boolean {
    switch (event) {
      case 'headers':
        this.#carried?.onInformational(Number((head as Head)[':status']), raw as HeaderList);
        return true;
      case 'response':
        this.#onResponse(head as Head, flags as number, raw as HeaderList);
        return true;
      case 'drain':
        this.#carried?.onDrain();
        return true;
      case 'trailers':
        this.#trailers = raw as HeaderList;
        return true;
      case 'wantTrailers':
        this.#sendTrailers();
        return true;
      case 'close':
        this.#onClose();
        return true;
      default:
        // The cause is known at `close`, which follows.
        return event === 'error';
    }
  }

  onData(_stream: Http2Stream, chunk: Buffer): boolean {
    if (this.#carried === null) return true;
    if (this.#hasHead && !this.#isPaused) {
      this.#pass(this.#carried, chunk);
      return !this.#isPaused;
    }
    this.#held ??= [];
    this.#held.push(isCrowded() ? aside(chunk) : chunk);
    this.#count(chunk.length);
    return !this.#isPaused;
  }

  /** The runtime enforces Content-Length. A stream reset after its end (RFC 9113 §8.1) is complete. */
  onEnd(): void {
    if (this.#isWhole) return;
    this.#isWhole = true;
    if (this.#hasHead && !this.#isPaused) this.#deliver();
  }

  #onResponse(head: Head, flags: number, raw: HeaderList): void {
    const isEnded = (flags & NGHTTP2_FLAG_END_STREAM) !== 0;
    const bytes = this.#carried?.onResponse(Number(head[':status']), raw, isEnded);
    this.#hasHead = true;
    // Where a length was announced, no downstream hop can accept trailers.
    this.#mayHaveTrailers = bytes === null;
    if (this.#carried === null) return;
    if (!isEnded && !(Number(bytes ?? Number.NaN) <= SMALL_BYTES)) readMore(this.#stream);
    if (this.#held !== null || this.#isWhole) this.#deliver();
  }

  #pass(carried: Carried, chunk: Buffer): void {
    // Not before: a collection while data waits would keep all of it.
    bufferPassed(chunk.length);
    this.#isPaused = !carried.onData(chunk);
  }

  #deliver(): void {
    while (!this.#isPaused && this.#carried !== null) {
      const chunk = this.#held?.shift();
      if (chunk === undefined) break;
      this.#count(-chunk.length);
      this.#pass(this.#carried, chunk);
    }
    if (this.#isPaused) return;
    if (this.#isWhole) this.#endResponse();
    else if (this.#isCut) this.#carried?.onClose(this.#stream.rstCode, this.#stream.errored);
    else if (this.#carried !== null) readMore(this.#stream);
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  #count(bytes: number): void {
    if (bytes === 0) return;
    this.#heldBytes += bytes;
    this.#link.held?.(bytes);
  }

  /** The event with trailers follows the end of data, in the next tick. */
  #endResponse(): void {
    if (this.#mayHaveTrailers) process.nextTick(endOf, this);
    else this.#carried?.onEnd(NO_TRAILERS);
  }

  endWithTrailers(): void {
    try {
      this.#carried?.onEnd(this.#trailers);
    } catch (error) {
      this.contain(error);
    }
  }

  /** The client gets what has arrived of a response that is complete, or that was reset without an error. */
  #onClose(): void {
    const { rstCode, errored } = this.#stream;
    if (RUNTIME_RESETS.has(rstCode)) this.#link.countReset?.();
    const isWhole = this.#isWhole && this.#hasHead;
    if (!isWhole && this.#isPaused && rstCode === NGHTTP2_NO_ERROR && errored === null) this.#isCut = true;
    if (isWhole || this.#isCut) this.#carried?.onDrain();
    else this.#carried?.onClose(rstCode, errored);
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

/** One function for all carriers: a closure each would cost time in every request. */
function endOf(carrier: Http2Carrier): void {
  carrier.endWithTrailers();
}

const NO_SWITCHED_TRAILERS: HeaderList = [];

/**
 * A stream whose request asks to switch protocols, and therefore has no body. It keeps the runtime's buffer for
 * readers: the new owner of a switched stream reads it as any other. A refusal is a response.
 */
export class Http2SwitchCarrier implements Carrier, ListenerOwner {
  /** The new owner of the stream has it. */
  readonly heldBytes = 0;
  readonly #stream: ClientHttp2Stream;
  readonly #link: CarrierLink;
  /** Null once it is over: the runtime keeps some streams, and this object with them, for a long time. */
  #carried: Carried | null;
  #trailers = NO_SWITCHED_TRAILERS;

  /** The stream must be new. */
  constructor(stream: ClientHttp2Stream, link: CarrierLink, carried: Carried) {
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
    listen(stream, 'close', this, () => this.#carried?.onClose(stream.rstCode, stream.errored));
  }

  write(): boolean {
    throw new Error('a request that switches protocols has no body');
  }

  end(): void {
    throw new Error('a request that switches protocols has no body');
  }

  resume(): void {
    this.#stream.resume();
  }

  release(isReset: boolean): void {
    this.#carried = null;
    if (isReset) this.#link.reset(this.#stream);
    // Data left in its buffers would keep the stream alive, with its share of the session's window.
    this.#stream.resume();
    this.#link.release(this.#stream);
  }

  /** The listeners stay: they do nothing any longer, and the new owner may attach its own after the peer resets. */
  giveAway(onClosed: () => void): ClientHttp2Stream {
    const stream = this.#stream;
    this.#carried = null;
    stream.pause();
    listenOnce(stream, 'close', this, () => {
      this.#link.release(stream);
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
    if (bytes !== null || this.#carried === null) return;
    listen(this.#stream, 'trailers', this, (_fields: unknown, _flags: number, trailers: HeaderList) => {
      this.#trailers = trailers;
    });
  }

  #onData(chunk: Buffer): void {
    bufferPassed(chunk.length);
    if (this.#carried?.onData(chunk) === false) this.#stream.pause();
  }

  /** A truncated stream also emits 'end'; 'close' tells the difference. */
  #onEnd(): void {
    if (hasStreamEnd(this.#stream)) this.#carried?.onEnd(this.#trailers);
  }
}
