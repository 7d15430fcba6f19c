import type { Duplex } from 'node:stream';
import { ignoreErrors, type ListenerOwner, listen, listenOnce } from '../../lib/guarded-listeners.ts';
import type { HeaderList } from '../../lib/http/header-list.ts';
import { STATUS_CODES } from '../../lib/http/node-http.ts';
import { NO_HEADERS, withOwnHeader } from './own-headers.ts';
import type { RequestProblem } from './request-problem.ts';
import type { ResponseWriter } from './response-writer.ts';

const noop = (): void => {};
/** Time for the client to read the response and close; after that it is disconnected. */
const LINGER_MS = 1000;

/**
 * Writes the response to an HTTP/1.1 request for which the runtime hands over the raw socket: one that asked to switch
 * protocols, or that could not be parsed. Unless the protocol is switched, the connection ends with the response.
 */
export class Http1SwitchWriter implements ResponseWriter {
  onDrain: () => void = noop;
  onGone: (problem?: RequestProblem) => void = noop;
  onBug: (error: unknown) => void;
  ownHeader: HeaderList = NO_HEADERS;
  isHeadSent = false;
  readonly #socket: Duplex;
  readonly #firstBytes: Buffer;
  #isEnded = false;
  #isChunked = false;

  constructor(socket: Duplex, firstBytes: Buffer, client: ListenerOwner) {
    this.#socket = socket;
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
    this.#isChunked = bodyBytes === null && status !== 204 && status !== 304;
    const framing = this.#isChunked ? ['transfer-encoding', 'chunked'] : ['content-length', String(bodyBytes)];
    const own = withOwnHeader(headers, this.ownHeader);
    this.#writeHead(status, [...own, 'connection', 'close', ...(status === 204 || status === 304 ? [] : framing)]);
  }

  write(chunk: Buffer): boolean {
    if (!this.#isChunked || chunk.length === 0) return this.#socket.write(chunk);
    this.#socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1');
    this.#socket.write(chunk);
    return this.#socket.write('\r\n', 'latin1');
  }

  end(): void {
    this.#isEnded = true;
    this.#socket.end(this.#isChunked ? '0\r\n\r\n' : '', 'latin1', () => this.#linger());
  }

  answer(status: number, headers: HeaderList, body: Buffer): void {
    const own = withOwnHeader(headers, this.ownHeader);
    this.#writeHead(status, [...own, 'connection', 'close', 'content-length', String(body.length)]);
    this.#isEnded = true;
    this.#socket.end(body, () => this.#linger());
  }

  acceptSwitch(status: number, headers: HeaderList): Duplex {
    this.#isEnded = true;
    this.#writeHead(status, [...headers, 'connection', 'upgrade', 'upgrade', 'websocket']);
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

  #writeHead(status: number, headers: HeaderList): void {
    this.isHeadSent = true;
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
    for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`;
    this.#socket.write(`${text}\r\n`, 'latin1');
  }
}
