import type { HeaderList } from '../../kit/http/header-values.ts';
import {
  CarriedBytes,
  Http1ChunkedBody,
  type ParserProblem,
  unfinishedLinesProblem,
} from '../../kit/http1/chunked-body.ts';
import { Http1HeaderBlock, TOO_MANY_FIELDS } from '../../kit/http1/header-block.ts';
import { bufferPassed } from '../../kit/net/waiting-bytes.ts';
import { MAX_INFORMATIONAL, type ResponseHead } from './upstream.ts';

/** RFC 9112 §4. The space before an absent reason phrase is often omitted; everything else is exact. */
const STATUS_LINE = /^HTTP\/1\.[01] [1-9][0-9]{2}(?: [\t\x20-\x7e\x80-\xff]*)?\r\n/;
const BEGINNING = 'HTTP/1.';
const ORDINARY = 'HTTP/1.1 200 OK\r\n';
/** Where the header lines begin, or -1 when the status line is malformed. */
export function statusLineEnd(head: string): number {
  if (head.startsWith(ORDINARY)) return ORDINARY.length;
  return STATUS_LINE.exec(head)?.[0].length ?? -1;
}

function statusOf(head: string): number {
  return (head.charCodeAt(9) - 48) * 100 + (head.charCodeAt(10) - 48) * 10 + head.charCodeAt(11) - 48;
}

/** Finds errors in a head that has not ended yet; `from` is the end of the part already checked. */
function unfinishedHeadProblem(carried: CarriedBytes, from: number): string | null {
  if (from < BEGINNING.length) {
    const start = carried.peek(0).slice(0, BEGINNING.length);
    if (!BEGINNING.startsWith(start)) return 'a malformed status line';
  }
  return unfinishedLinesProblem(carried, from);
}

export interface ResponseSink {
  onInformational(status: number, headers: HeaderList): void;
  /** The final head; 101 only when a switch was requested. */
  onHead(head: ResponseHead): void;
  onData(chunk: Buffer): void;
  /** Instead, when the owner of the buffer passed to `execute` reuses it. */
  onBorrowedData(chunk: Buffer): void;
}

interface Http1ResponseParserOptions {
  readonly maxHeaderBytes: number;
  readonly maxHeaderCount: number;
  /** The owner of the buffer passed to `execute` reuses it. */
  readonly isBufferReused: boolean;
}

/**
 * `idle`: no request is pending; any byte is an error. `head`: the next head, after any number of informational ones.
 * `length`, `chunked`, `until-close`: the body, by its framing. From all of these a complete response leads to `done`,
 * 101 to `switched`, and any error to `failed`; `begin` leads from `idle` and `done` to `head`.
 */
export type ParserState = 'idle' | 'head' | 'length' | 'chunked' | 'until-close' | 'done' | 'switched' | 'failed';

const BLOCK_END = Buffer.from('\r\n\r\n');

/**
 * Parses HTTP/1.1 responses (RFC 9112) on one connection, in pieces of any size. Strict: ambiguous input is rejected.
 */
export class Http1ResponseParser {
  state: ParserState = 'idle';
  problem: ParserProblem | null = null;
  /** Whether any byte of a response has arrived since `begin`. */
  hasBytes = false;
  /** Whether, as far as the response is concerned, the connection can be reused. */
  isReusable = false;
  /** Announced by the upstream; -1 when absent. */
  keepAliveSeconds = -1;
  /** The response asks to authenticate the connection itself. */
  hasConnectionAuth = false;
  readonly #sink: ResponseSink;
  readonly #options: Http1ResponseParserOptions;
  readonly #carried = new CarriedBytes();
  readonly #block = new Http1HeaderBlock();
  readonly #chunked: Http1ChunkedBody;
  #isHead = false;
  #switchTo: string | null = null;
  #remaining = 0;
  #informational = 0;

  constructor(sink: ResponseSink, options: Http1ResponseParserOptions) {
    this.#sink = sink;
    this.#options = options;
    this.#chunked = new Http1ChunkedBody(options);
  }

  get trailers(): HeaderList {
    return this.#chunked.trailers;
  }

  /** A request is about to be sent. `switchTo` in lower case. */
  begin(isHead: boolean, switchTo: string | null): void {
    this.state = 'head';
    this.hasBytes = false;
    this.isReusable = false;
    this.hasConnectionAuth = false;
    this.#chunked.begin();
    this.#isHead = isHead;
    this.#switchTo = switchTo;
    this.#informational = 0;
  }

  /** Stops parsing: nothing is passed on from here, not even the rest of the current bytes. */
  stop(): void {
    this.state = 'failed';
  }

  /** Returns how many bytes belonged to the response. Check `state` afterwards. */
  execute(bytes: Buffer): number {
    const end = bytes.length;
    let at = 0;
    if (end > 0) this.hasBytes = true;
    while (at < end) {
      switch (this.state) {
        case 'head':
          at = this.#readHead(bytes, at);
          break;
        case 'length':
          at = this.#readLength(bytes, at);
          break;
        case 'chunked':
          at = this.#readChunked(bytes, at);
          break;
        case 'until-close':
          this.#handUp(bytes, at, end);
          at = end;
          break;
        case 'idle':
        case 'done':
        case 'switched':
        case 'failed':
          return at;
      }
    }
    return at;
  }

  /**
   * The upstream closed its side. That ends only a body without framing; in any other state the response is truncated.
   */
  finish(): void {
    if (this.state === 'until-close') this.state = 'done';
  }

  #readHead(bytes: Buffer, at: number): number {
    const carried = this.#carried;
    const before = carried.length;
    const { maxHeaderBytes, maxHeaderCount } = this.#options;
    const text = carried.take(bytes, at, BLOCK_END, maxHeaderBytes);
    const { next } = carried;
    if (text === null) {
      // Detected immediately, not after the response timeout: a head with bare LFs would never end.
      const problem = unfinishedHeadProblem(carried, before);
      if (problem !== null) this.#fail(problem);
      else if (carried.length === maxHeaderBytes) this.#failTooLarge(`more than ${maxHeaderBytes} bytes of headers`);
      return next;
    }
    const linesAt = statusLineEnd(text);
    const problem =
      linesAt === -1 ? 'a malformed status line' : this.#block.parse(text, linesAt, text.length - 2, maxHeaderCount);
    if (problem === null) this.#accept(statusOf(text), text.charCodeAt(7) === 49);
    else if (problem === TOO_MANY_FIELDS) this.#failTooLarge(`more than ${maxHeaderCount} headers`);
    else this.#fail(problem);
    return next;
  }

  #accept(status: number, isHttp11: boolean): void {
    const { isChunked, contentLength } = this.#block;
    // RFC 9112 §6.1: an HTTP/1.0 sender cannot have meant this framing.
    if (isChunked && !isHttp11) this.#fail('Transfer-Encoding in an HTTP/1.0 response');
    else if (status >= 200) this.#acceptFinal(status, isHttp11);
    else if (isChunked || contentLength > 0) this.#fail('an informational response that announces a body');
    else if (status === 101) this.#acceptSwitch();
    else if (this.#informational === MAX_INFORMATIONAL) this.#fail('too many informational responses');
    else {
      this.#informational += 1;
      this.#sink.onInformational(status, this.#block.headers);
    }
  }

  #acceptSwitch(): void {
    const { headers, upgrade } = this.#block;
    if (this.#switchTo === null || upgrade.toLowerCase() !== this.#switchTo) {
      this.#fail('101 Switching Protocols that was not requested');
      return;
    }
    this.state = 'switched';
    this.#sink.onHead({ status: 101, headers, bodyBytes: null, declaredBytes: null });
  }

  #acceptFinal(status: number, isHttp11: boolean): void {
    const { headers, contentLength, isChunked, hasClose, hasKeepAlive } = this.#block;
    const isBodiless = this.#isHead || status === 204 || status === 304;
    const hasLength = contentLength !== -1;
    // A 204 that announces a body (RFC 9110 §8.6 forbids it) may send one.
    const isSuspect = status === 204 && (isChunked || contentLength > 0);
    const isKept = !hasClose && (isHttp11 || hasKeepAlive);
    this.isReusable = isKept && !isSuspect && (isBodiless || isChunked || hasLength);
    this.keepAliveSeconds = this.#block.keepAliveSeconds;
    this.hasConnectionAuth = this.#block.hasConnectionAuth;
    this.#remaining = contentLength;
    if (isBodiless || contentLength === 0) this.state = 'done';
    else if (isChunked) this.state = 'chunked';
    else this.state = hasLength ? 'length' : 'until-close';
    const bodyBytes = isBodiless ? 0 : hasLength ? contentLength : null;
    this.#sink.onHead({ status, headers, bodyBytes, declaredBytes: hasLength ? contentLength : null });
  }

  #readLength(bytes: Buffer, at: number): number {
    const count = Math.min(bytes.length - at, this.#remaining);
    this.#remaining -= count;
    if (this.#remaining === 0) this.state = 'done';
    this.#handUp(bytes, at, at + count);
    return at + count;
  }

  #readChunked(bytes: Buffer, at: number): number {
    const body = this.#chunked;
    if (body.state === 'data') {
      const count = body.takeData(bytes.length - at);
      this.#handUp(bytes, at, at + count);
      return at + count;
    }
    const next = body.readFraming(bytes, at);
    if (body.problem !== null) {
      this.state = 'failed';
      this.problem = body.problem;
    } else if (body.state === 'done') {
      this.state = 'done';
    }
    return next;
  }

  #handUp(bytes: Buffer, from: number, to: number): void {
    bufferPassed(to - from);
    const chunk = from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to);
    if (this.#options.isBufferReused) this.#sink.onBorrowedData(chunk);
    else this.#sink.onData(chunk);
  }

  #fail(message: string): void {
    this.state = 'failed';
    this.problem = { reason: 'malformed', message };
  }

  #failTooLarge(message: string): void {
    this.state = 'failed';
    this.problem = { reason: 'headers_too_large', message };
  }
}
