import type { Duplex } from 'node:stream';
import { ignoreErrors, type ListenerOwner, listen, listenOnce } from '../../../kit/guarded-listeners.ts';
import type { HeaderList } from '../../../kit/http/header-values.ts';
import { Http1Output } from '../../../kit/http1/http1-output.ts';
import { lastChunk } from '../../upstream/request-headers.ts';
import { responseLines } from './http1-response-writer.ts';
import { NO_HEADERS, type RequestProblem, type ResponseWriter, withOwnHeader } from './incoming-request.ts';

const noop = (): void => {};
/** Time for the client to read the response and close; after that it is disconnected. */
const LINGER_MS = 1000;
const CLOSE = 'connection: close\r\n';

/**
 * Writes the response to an HTTP/1.1 request whose connection was given away: one that asked to switch protocols, or
 * that could not be parsed. Unless the protocol is switched, the connection ends with the response.
 */
export class Http1SwitchWriter implements ResponseWriter {
  onDrain: () => void = noop;
  onGone: (problem?: RequestProblem) => void = noop;
  onBug: (error: unknown) => void;
  ownHeader: HeaderList = NO_HEADERS;
  isHeadSent = false;
  readonly #socket: Duplex;
  readonly #output: Http1Output;
  readonly #firstBytes: Buffer;
  #isEnded = false;
  #isChunked = false;

  constructor(socket: Duplex, firstBytes: Buffer, client: ListenerOwner) {
    this.#socket = socket;
    this.#output = new Http1Output(socket);
    this.#firstBytes = firstBytes;
    this.onBug = (error) => client.contain(error);
    listen(socket, 'drain', this, () => this.onDrain());
    listen(socket, 'close', this, () => {
      if (!this.#isEnded) this.onGone();
    });
    ignoreErrors(socket);
  }

  get isGone(): boolean {
    return this.#socket.destroyed;
  }

  contain(error: unknown): void {
    this.onBug(error);
  }

  informational(): void {}

  /** Framed although the connection ends with it: otherwise a truncated response would look complete. */
  head(status: number, headers: HeaderList, bodyBytes: number | null): void {
    const isBodiless = status === 204 || status === 304;
    this.#isChunked = bodyBytes === null && !isBodiless;
    const framing = this.#isChunked ? 'transfer-encoding: chunked\r\n' : `content-length: ${bodyBytes}\r\n`;
    this.#writeHead(status, withOwnHeader(headers, this.ownHeader), `${CLOSE}${isBodiless ? '' : framing}`);
  }

  write(chunk: Buffer): boolean {
    if (chunk.length === 0) return true;
    return this.#isChunked ? this.#output.writeChunk(chunk) : this.#output.write(chunk);
  }

  end(): void {
    this.#isEnded = true;
    this.#socket.end(this.#isChunked ? lastChunk(NO_HEADERS) : '', 'latin1', () => this.#linger());
  }

  answer(status: number, headers: HeaderList, body: Buffer): void {
    const lines = `${CLOSE}content-length: ${body.length}\r\n`;
    this.#writeHead(status, withOwnHeader(headers, this.ownHeader), lines);
    this.#isEnded = true;
    this.#socket.end(body, () => this.#linger());
  }

  acceptSwitch(status: number, headers: HeaderList): Duplex {
    this.#writeHead(status, headers, 'connection: upgrade\r\nupgrade: websocket\r\n');
    this.#isEnded = true;
    if (this.#firstBytes.length > 0) this.#socket.unshift(this.#firstBytes);
    // The end of one direction does not end the other.
    this.#socket.allowHalfOpen = true;
    return this.#socket;
  }

  wouldOpen(): boolean {
    return false;
  }

  cut(): void {
    this.#isEnded = true;
    this.#socket.destroy();
  }

  /** Further input is discarded: closing with unread bytes resets the connection, and the response may be lost. */
  #linger(): void {
    this.#socket.resume();
    const timer = setTimeout(() => this.#socket.destroy(), LINGER_MS);
    listenOnce(this.#socket, 'close', this, () => clearTimeout(timer));
  }

  /** `lines`: those that belong to the connection. Throws like `responseLines`; then nothing is sent. */
  #writeHead(status: number, headers: HeaderList, lines: string): void {
    this.#output.writeText(`${responseLines(status, headers)}${lines}\r\n`);
    this.isHeadSent = true;
  }
}
