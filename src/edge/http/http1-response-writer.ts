import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ignoreErrors, type ListenerOwner, listen, listenOnce } from '../../lib/guarded-listeners.ts';
import { type HeaderList, pairsOf } from '../../lib/http/header-list.ts';
import { breakOff } from '../../lib/net/break-off.ts';
import { NO_HEADERS, withOwnHeader } from './own-headers.ts';
import type { RequestProblem } from './request-problem.ts';
import type { ResponseWriter } from './response-writer.ts';

const noop = (): void => {};

/** Writes a response over HTTP/1.1. */
export class Http1ResponseWriter implements ResponseWriter {
  onDrain: () => void = noop;
  onGone: (problem?: RequestProblem) => void = noop;
  onBug: (error: unknown) => void;
  ownHeader: HeaderList = NO_HEADERS;
  readonly #client: ListenerOwner;
  readonly #response: ServerResponse;
  readonly #drain: { readonly isDraining: boolean };
  #isEnded = false;
  #awaitsDrain = false;
  #hasBody = false;
  /** No length was announced. */
  #isOpenEnded = false;
  /** The announced length, until a part of it has been sent; -1 when none was announced. */
  #announcedBytes = -1;
  /** The runtime has the complete body. */
  #isWhole = false;

  /** `drain`: shared by all, for responses that start after draining began. */
  constructor(response: ServerResponse, drain: { readonly isDraining: boolean }, client: ListenerOwner) {
    this.#response = response;
    this.#drain = drain;
    this.#client = client;
    this.onBug = this.#toClient;
    listen(response, 'close', this, () => this.#onClose());
    // A client that resets the connection appears as 'close'.
    ignoreErrors(response);
  }

  contain(error: unknown): void {
    this.onBug(error);
  }

  readonly #toClient = (error: unknown): void => this.#client.contain(error);

  #onClose(): void {
    if (!this.#isEnded && !this.#isWhole) this.onGone();
  }

  get isGone(): boolean {
    return this.#response.req.socket.destroyed;
  }

  get isHeadSent(): boolean {
    return this.#response.headersSent;
  }

  /** The runtime no longer reports to responses what the socket can take, once it has handed over the socket. */
  drained(): void {
    this.#response.emit('drain');
  }

  get isRequestWhole(): boolean {
    return this.#response.req.complete;
  }

  /** The request cannot be completed. A response that is already decided is sent, and the connection ends with it. */
  fail(problem: RequestProblem): void {
    const response = this.#response;
    response.shouldKeepAlive = false;
    if (response.writableFinished) response.req.socket.destroySoon();
    else if (this.#isEnded || this.#isWhole)
      listenOnce(response, 'finish', this, () => response.req.socket.destroySoon());
    else this.onGone(problem);
  }

  informational(status: number, headers: HeaderList): void {
    // RFC 9110 §15.2: HTTP/1.0 has no 1xx responses, and its clients would take one for the final response.
    if (this.#response.req.httpVersionMinor === 0) return;
    if (status === 100) this.#response.writeContinue();
    else if (status === 103) this.#response.writeInformation(status, headers.slice());
  }

  head(status: number, headers: HeaderList, bodyBytes: number | null): void {
    const framed = withOwnHeader(headers, this.ownHeader).slice();
    this.#isOpenEnded = bodyBytes === null;
    if (bodyBytes !== null && status !== 204 && status !== 304) {
      framed.push('content-length', String(bodyBytes));
      this.#announcedBytes = bodyBytes;
    }
    if (this.#drain.isDraining) this.#response.shouldKeepAlive = false;
    this.#response.writeHead(status, framed);
    // Not before the turn of the loop ends: over HTTP/2 the head arrives before the body that came with it.
    setImmediate(flushHead, this);
  }

  /**
   * The runtime holds a head until some of the body is written; but the first event of a stream may be minutes away.
   */
  flushHead(): void {
    if (!this.#hasBody && !this.#isEnded) this.#response.flushHeaders();
  }

  write(chunk: Buffer): boolean {
    this.#hasBody = true;
    if (chunk.length === this.#announcedBytes) {
      // The whole body at once, as nearly always: head, body and end leave the process in one write, now and not a tick
      // later.
      this.#isWhole = true;
      this.#response.end(chunk);
      return true;
    }
    this.#announcedBytes = -1;
    const hasRoom = this.#response.write(chunk);
    // Few responses fill the buffer: most never need the listener.
    if (!hasRoom && !this.#awaitsDrain) {
      this.#awaitsDrain = true;
      listenOnce(this.#response, 'drain', this, () => this.#drained());
    }
    return hasRoom;
  }

  #drained(): void {
    this.#awaitsDrain = false;
    this.onDrain();
  }

  end(trailers: HeaderList): void {
    this.#finish();
    if (this.#isWhole) return;
    if (trailers.length > 0 && this.#response.chunkedEncoding) this.#response.addTrailers(pairsOf(trailers));
    this.#response.end();
  }

  answer(status: number, headers: HeaderList, body: Buffer): void {
    // RFC 9110 §8.6: never with 204. For HEAD the runtime sends only the head.
    const framing = status === 204 || status === 304 ? [] : ['content-length', String(body.length)];
    if (this.#drain.isDraining) this.#response.shouldKeepAlive = false;
    this.#response.writeHead(status, [...withOwnHeader(headers, this.ownHeader), ...framing]);
    this.#finish();
    this.#response.end(body);
  }

  acceptSwitch(): Duplex {
    throw new Error('a request that asked to switch comes through Http1SwitchPort');
  }

  wouldOpen(): boolean {
    return false;
  }

  cut(): void {
    const { req, chunkedEncoding } = this.#response;
    this.#finish();
    // For HTTP/1.0 a response of unknown length ends with the connection, so this must not look like an end.
    if (!chunkedEncoding && this.#isOpenEnded) breakOff(req.socket);
    else this.#response.destroy();
  }

  /** The runtime keeps its objects longer than the exchange lives: they must not keep the exchange too. */
  #finish(): void {
    this.#isEnded = true;
    this.onDrain = noop;
    this.onGone = noop;
    this.onBug = this.#toClient;
  }
}

function flushHead(writer: Http1ResponseWriter): void {
  try {
    writer.flushHead();
  } catch (error) {
    writer.contain(error);
  }
}
