import { constants, type ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { HeaderList } from '../upstream/upstream.ts';
import type { ClientPort } from './client-port.ts';
import { objectOf, pairsOf } from './header-list.ts';

const noop = (): void => {};

/** The client's side over HTTP/2. */
export class Http2Port implements ClientPort {
  onDrain: () => void = noop;
  onGone: () => void = noop;
  readonly #stream: ServerHttp2Stream;
  readonly #isHead: boolean;
  #trailers: HeaderList = [];
  #isEnded = false;
  #awaitsDrain = false;

  constructor(stream: ServerHttp2Stream, method: string) {
    this.#stream = stream;
    this.#isHead = method === 'HEAD';
    stream.on('close', () => {
      if (!this.#isEnded) this.onGone();
    });
    stream.on('error', noop);
  }

  get isHeadSent(): boolean {
    return this.#stream.headersSent;
  }

  informational(status: number, headers: HeaderList): void {
    if (!this.#stream.destroyed && !this.#stream.headersSent)
      this.#stream.additionalHeaders({ ':status': status, ...objectOf(headers) });
  }

  head(status: number, headers: HeaderList, bodyBytes: number | null): void {
    if (this.#stream.destroyed) return;
    const isEmpty = this.#isHead || bodyBytes === 0 || status === 204 || status === 304;
    const framed: (string | number)[] = [':status', status, ...headers];
    if (bodyBytes !== null && status !== 204 && status !== 304) framed.push('content-length', String(bodyBytes));
    // Trailers can only come where the length was left open: gRPC, and chunked answers of HTTP/1.1 upstreams.
    const waitForTrailers = bodyBytes === null && !isEmpty;
    this.#stream.respond(framed as string[], { endStream: isEmpty, waitForTrailers });
    if (isEmpty) this.#finish();
    if (waitForTrailers) this.#stream.once('wantTrailers', () => this.#stream.sendTrailers(objectOf(this.#trailers)));
  }

  write(chunk: Buffer): boolean {
    if (!this.#stream.writable) return true;
    const hasRoom = this.#stream.write(chunk);
    // Few answers fill the buffer: most never need the listener.
    if (!hasRoom && !this.#awaitsDrain) {
      this.#awaitsDrain = true;
      this.#stream.once('drain', () => {
        this.#awaitsDrain = false;
        this.onDrain();
      });
    }
    return hasRoom;
  }

  end(trailers: HeaderList): void {
    if (this.#isEnded) return;
    this.#finish();
    this.#trailers = trailers;
    this.#stream.end();
  }

  answer(status: number, headers: HeaderList, body: Buffer): void {
    if (this.#stream.destroyed) return;
    this.#finish();
    const endStream = this.#isHead || body.length === 0;
    this.#stream.respond([':status', String(status), ...headers, 'content-length', String(body.length)], { endStream });
    if (!endStream) this.#stream.end(body);
  }

  /** RFC 8441 §5: what is 101 over HTTP/1.1 is 200 here, and the stream carries the bytes. */
  acceptSwitch(_status: number, headers: HeaderList): Duplex {
    this.#finish();
    // §5.1 there: it answers a key, and there was none.
    const shown = pairsOf(headers).filter(([name]) => name !== 'sec-websocket-accept');
    this.#stream.respond([':status', '200', ...shown.flat()]);
    return this.#stream;
  }

  cut(): void {
    this.#finish();
    this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  }

  /**
   * The runtime's map of a session's streams leaves tables behind that keep finished streams alive until the next full garbage
   * collection (see LiveExchanges): those must not keep the exchange, too.
   */
  #finish(): void {
    this.#isEnded = true;
    this.onDrain = noop;
    this.onGone = noop;
  }
}
