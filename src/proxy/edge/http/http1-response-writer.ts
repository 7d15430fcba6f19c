import type { Duplex } from 'node:stream';
import type { ListenerOwner } from '../../../kit/guarded-listeners.ts';
import { firstValue, type HeaderList } from '../../../kit/http/header-values.ts';
import { STATUS_CODES } from '../../../kit/http/node-http.ts';
import { headerName } from '../../../kit/http1/header-block.ts';
import type { Http1Output, OutputSocket } from '../../../kit/http1/http1-output.ts';
import { copyOf } from '../../../kit/net/waiting-bytes.ts';
import { lastChunk } from '../../upstream/request-headers.ts';
import {
  type HeldPart,
  NO_HEADERS,
  type RequestProblem,
  type ResponseWriter,
  withOwnHeader,
} from './incoming-request.ts';

/** A control character, or one that a byte cannot hold. */
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/;

/** The code is the runtime's: code that handles its errors handles this one too. */
class UnsendableFieldError extends Error {
  readonly code = 'ERR_INVALID_CHAR';

  /** Without the value, which may be a secret. */
  constructor(name: string) {
    super(`the response header ${JSON.stringify(name)} cannot be sent`);
  }
}

/**
 * Status line and fields, without the empty line. Throws when a field could end its line early or change the framing.
 */
export function responseLines(status: number, headers: HeaderList): string {
  let text = statusLine(status);
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string;
    const value = headers[at + 1] as string;
    const found = headerName(name);
    if (found === null || FRAMING.has(found.kind) || UNSENDABLE.test(value)) throw new UnsendableFieldError(name);
    text += `${name}: ${value}\r\n`;
  }
  return text;
}

const FRAMING: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding', 'connection']);
const OK = 'HTTP/1.1 200 OK\r\n';

function statusLine(status: number): string {
  return status === 200 ? OK : `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`;
}

let dateSecond = 0;
let dateText = '';

/** RFC 9110 §6.6.1. Formatted once per second. */
function dateLine(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateText = `Date: ${new Date(second * 1000).toUTCString()}\r\n`;
  }
  return dateText;
}

/** What the framing of a response depends on. The same object serves the next request. */
interface AnsweredRequest {
  readonly method: string;
  readonly isHttp11: boolean;
  readonly isKeptAlive: boolean;
}

/** The connection of a response. */
export interface ResponseOwner extends ListenerOwner {
  readonly socket: OutputSocket;
  readonly output: Http1Output;
  /** Value of Keep-Alive. */
  readonly keepAlive: string;
  /** The connection accepts no further request. */
  readonly isLast: boolean;
  /** A body of this length begins; null: it is not known. */
  onBegin(bodyBytes: number | null): void;
  /** The client accepts no more for now. */
  onFull(): void;
  /** The whole response has been written. */
  onResponseEnd(closes: boolean): void;
  cutOff(isOpenEnded: boolean): void;
}

const noop = (): void => {};

/**
 * Writes a response over HTTP/1.1. States: *waiting* → `head` → *held* (nothing has left the process) → *sent* (with
 * the first part of the body, or after the turn of the event loop) → `end` → *ended*.
 */
export class Http1ResponseWriter implements ResponseWriter {
  onDrain: () => void = noop;
  onGone: (problem?: RequestProblem) => void = noop;
  onBug: (error: unknown) => void;
  ownHeader: HeaderList = NO_HEADERS;
  isHeadSent = false;
  clientAddress = '';
  sender: HeldPart | null = null;
  readonly #client: ResponseOwner;
  readonly #request: AnsweredRequest;
  readonly #output: Http1Output;
  #isEnded = false;
  #awaitsDrain = false;
  /** The client has not been asked for the body that it announced. */
  #awaitsContinue: boolean;
  /** The connection ends with this response. */
  #closes = false;
  #hasBody = true;
  #isChunked = false;
  /** Only the end of the connection shows the end of the body. */
  #isOpenEnded = false;
  /** The announced length, until a part of it has been sent; -1 when none was announced. */
  #announcedBytes = -1;
  /** The whole body of the announced length has been written. */
  #isWhole = false;

  constructor(client: ResponseOwner, request: AnsweredRequest, expectsContinue: boolean) {
    this.#client = client;
    this.#request = request;
    this.#output = client.output;
    this.#awaitsContinue = expectsContinue;
    this.onBug = this.#toClient;
  }

  contain(error: unknown): void {
    this.onBug(error);
  }

  readonly #toClient = (error: unknown): void => this.#client.contain(error);

  /** The connection has closed. */
  closed(): void {
    if (!this.#isEnded && !this.#isWhole) this.onGone();
  }

  drained(): void {
    if (!this.#awaitsDrain) return;
    this.#awaitsDrain = false;
    this.onDrain();
  }

  get isGone(): boolean {
    return this.#client.socket.destroyed;
  }

  /** The connection ends with this response, unless it has already promised to stay. */
  retire(): void {
    if (!this.isHeadSent) this.#closes = true;
  }

  /** The request cannot be completed. A response that is already decided is sent, and the connection ends with it. */
  fail(problem: RequestProblem): void {
    this.#closes = true;
    if (!this.#isEnded && !this.#isWhole) this.onGone(problem);
  }

  informational(status: number, headers: HeaderList): void {
    // RFC 9110 §15.2: HTTP/1.0 has no 1xx responses, and its clients would take one for the final response.
    if (!this.#request.isHttp11 || this.isHeadSent) return;
    if (status === 100) this.#awaitsContinue = false;
    if (status === 100 || status === 103)
      this.#client.socket.write(`${responseLines(status, status === 100 ? NO_HEADERS : headers)}\r\n`, 'latin1');
  }

  head(status: number, headers: HeaderList, bodyBytes: number | null): void {
    this.#start(status, headers, bodyBytes);
    // Not before the turn of the loop ends: over HTTP/2 the head arrives before the body that came with it. Most bodies
    // arrive together with the head, and are written before the next tick.
    process.nextTick(awaitBody, this);
  }

  #start(status: number, headers: HeaderList, bodyBytes: number | null): void {
    const { method, isHttp11, isKeptAlive } = this.#request;
    const fields = withOwnHeader(headers, this.ownHeader);
    const isBodiless = status === 204 || status === 304;
    const hasLength = bodyBytes !== null && !isBodiless;
    this.#hasBody = !isBodiless && method !== 'HEAD';
    this.#isChunked = bodyBytes === null && this.#hasBody && isHttp11;
    this.#isOpenEnded = bodyBytes === null && this.#hasBody && !isHttp11;
    if (hasLength) this.#announcedBytes = bodyBytes;
    if (this.#hasBody) this.#client.onBegin(bodyBytes);
    // A client that was not asked for its body may send it or not.
    const isLast = this.#client.isLast || this.#awaitsContinue;
    if (!isKeptAlive || isLast || (!isHttp11 && !hasLength)) this.#closes = true;
    let text = responseLines(status, fields);
    if (firstValue(fields, 'date') === undefined) text += dateLine();
    text += this.#closes ? 'Connection: close\r\n' : this.#client.keepAlive;
    if (hasLength) text += `content-length: ${bodyBytes}\r\n\r\n`;
    else text += this.#isChunked ? 'Transfer-Encoding: chunked\r\n\r\n' : '\r\n';
    this.isHeadSent = true;
    this.#output.hold(text);
  }

  /** The first event of a stream may be minutes away. */
  flushHead(): void {
    if (this.#output.isHeld) this.#output.flush();
  }

  get isHeld(): boolean {
    return this.#output.isHeld;
  }

  writeBorrowed(chunk: Buffer): boolean {
    return this.write(this.#output.copies(chunk, this.#isChunked) ? chunk : copyOf(chunk));
  }

  write(chunk: Buffer): boolean {
    if (!this.#hasBody || chunk.length === 0) return true;
    // The whole body at once, as nearly always: it is complete now, and not when its end is confirmed.
    if (chunk.length === this.#announcedBytes) this.#isWhole = true;
    this.#announcedBytes = -1;
    const hasRoom = this.#isChunked ? this.#output.writeChunk(chunk) : this.#output.write(chunk);
    if (!hasRoom && !this.#awaitsDrain) {
      this.#awaitsDrain = true;
      this.#client.onFull();
    }
    return hasRoom;
  }

  end(trailers: HeaderList): void {
    if (this.#isEnded) return;
    this.#finish();
    if (this.#isChunked) this.#output.writeText(lastChunk(trailers));
    else this.flushHead();
    this.#client.onResponseEnd(this.#closes);
  }

  answer(status: number, headers: HeaderList, body: Buffer): void {
    this.#start(status, headers, body.length);
    this.#finish();
    if (this.#hasBody && body.length > 0) this.#output.write(body);
    else this.flushHead();
    this.#client.onResponseEnd(this.#closes);
  }

  acceptSwitch(): Duplex {
    throw new Error('a request that asked to switch comes through Http1SwitchWriter');
  }

  wouldOpen(): boolean {
    return false;
  }

  cut(): void {
    this.#finish();
    this.#client.cutOff(this.#isOpenEnded);
  }

  /** The connection may keep this object longer than the exchange lives: it must not keep the exchange too. */
  #finish(): void {
    this.#isEnded = true;
    this.onDrain = noop;
    this.onGone = noop;
    this.onBug = this.#toClient;
    this.sender = null;
  }
}

function awaitBody(writer: Http1ResponseWriter): void {
  if (writer.isHeld) setImmediate(flushHead, writer);
}

function flushHead(writer: Http1ResponseWriter): void {
  try {
    writer.flushHead();
  } catch (error) {
    writer.contain(error);
  }
}
