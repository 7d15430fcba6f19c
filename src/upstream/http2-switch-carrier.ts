import { type ClientHttp2Stream, constants } from 'node:http2';
import { ignoreErrors, type ListenerOwner, listen, listenOnce, reportBug } from '../lib/guarded-listeners.ts';
import type { HeaderList } from '../lib/http/header-values.ts';
import { hasStreamEnd, watchStreamEnd } from '../lib/http2/stream-end.ts';
import { bufferPassed } from '../lib/net/waiting-bytes.ts';
import type { Carried, Carrier } from './carrier.ts';
import type { CarrierLink } from './http2-carrier.ts';

const NO_TRAILERS: HeaderList = [];
type Head = Readonly<Record<string, unknown>>;

/**
 * A stream whose request asks to switch protocols, and therefore has no body. It keeps the runtime's buffer for readers: the new
 * owner of a switched stream reads it as any other. A refusal is a response.
 */
export class Http2SwitchCarrier implements Carrier, ListenerOwner {
  /** The new owner of the stream has it. */
  readonly heldBytes = 0;
  readonly #stream: ClientHttp2Stream;
  readonly #link: CarrierLink;
  /** Null once it is over: the runtime keeps some streams, and this object with them, for a long time. */
  #carried: Carried | null;
  #trailers = NO_TRAILERS;

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

  letGo(isReset: boolean): void {
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
