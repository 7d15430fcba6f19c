import type { HeaderList } from '../http/header-values.ts';
import { CarriedBytes, unfinishedLinesProblem } from './carried-bytes.ts';
import { Http1HeaderBlock, TOO_MANY_FIELDS } from './header-block.ts';
import { isAllowedInTrailers } from './header-names.ts';

/** Longest chunk-size line: sixteen digits would exceed a safe integer; the rest is for extensions. */
const MAX_CHUNK_LINE_BYTES = 512;

const SIZE_DIGITS = /^[0-9A-Fa-f]{1,13}/;
/**
 * RFC 9112 §7.1.1 without its optional white space, which parsers have interpreted differently often enough to enable
 * smuggling. Extensions are validated, counted and ignored.
 */
const EXTENSIONS =
  /^(?:;[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:=(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+|"(?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"))?)+$/;

/** The size announced by a line (with its CRLF), or -1 when it is malformed. */
export function chunkSize(line: string): number {
  const end = line.length - 2;
  // The line ends at its first LF: without this check a bare LF would end it too.
  if (end < 1 || line[end] !== '\r') return -1;
  const digits = SIZE_DIGITS.exec(line)?.[0];
  if (digits === undefined) return -1;
  if (digits.length < end && !EXTENSIONS.test(line.slice(digits.length, end))) return -1;
  return Number.parseInt(digits, 16);
}

export interface ChunkedBodyLimits {
  readonly maxHeaderBytes: number;
  readonly maxHeaderCount: number;
}

const BLOCK_END = Buffer.from('\r\n\r\n');
const LINE_BREAK = Buffer.from('\r\n');
const LF = Buffer.from('\n');
const NO_TRAILERS: HeaderList = [];

/**
 * The chunked coding (RFC 9112 §7.1), one step per call. `line`: a chunk size is next. `data`: `available` bytes of
 * data are next. `data-end`: the CRLF after them. `trailers`: after the last chunk. `done`, or `problem`.
 */
export class Http1ChunkedBody {
  state: 'line' | 'data' | 'data-end' | 'trailers' | 'done' = 'line';
  /** Bytes of the current chunk that have not been taken. */
  remaining = 0;
  trailers: HeaderList = NO_TRAILERS;
  /** The trailers contain framing, which is dropped. */
  hasFramingInTrailers = false;
  problem: ParserProblem | null = null;
  readonly #limits: ChunkedBodyLimits;
  readonly #carried = new CarriedBytes();
  #extensionBytes = 0;

  constructor(limits: ChunkedBodyLimits) {
    this.#limits = limits;
  }

  begin(): void {
    this.state = 'line';
    this.trailers = NO_TRAILERS;
    this.#extensionBytes = 0;
  }

  /** Returns how many bytes of data start at `at`; the caller passes them on. */
  takeData(available: number): number {
    const count = Math.min(available, this.remaining);
    this.remaining -= count;
    if (this.remaining === 0) this.state = 'data-end';
    return count;
  }

  /** Reads framing. Returns where reading continues. */
  readFraming(bytes: Buffer, at: number): number {
    if (this.state === 'line') return this.#readLine(bytes, at);
    return this.state === 'data-end' ? this.#readDataEnd(bytes, at) : this.#readTrailers(bytes, at);
  }

  #readLine(bytes: Buffer, at: number): number {
    const carried = this.#carried;
    const line = carried.take(bytes, at, LF, MAX_CHUNK_LINE_BYTES);
    if (line === null) {
      if (carried.length === MAX_CHUNK_LINE_BYTES) this.#fail('a chunk line too long');
      return carried.next;
    }
    const size = chunkSize(line);
    // Longer than any size with its CRLF.
    if (line.length > 15) this.#extensionBytes += line.length;
    if (size === -1) this.#fail('a malformed chunk size');
    // CVE-2023-39326 (Go): tiny chunks with long extensions cost far more than they deliver.
    else if (this.#extensionBytes > this.#limits.maxHeaderBytes) this.#fail('too many bytes of chunk extensions');
    else this.state = size === 0 ? 'trailers' : 'data';
    this.remaining = size;
    return carried.next;
  }

  #readDataEnd(bytes: Buffer, at: number): number {
    const carried = this.#carried;
    if (carried.take(bytes, at, LINE_BREAK, LINE_BREAK.length) !== null) this.state = 'line';
    else if (carried.length === LINE_BREAK.length || carried.peek(0) !== '\r') {
      this.#fail('a chunk that is not followed by CRLF');
    }
    return carried.next;
  }

  #readTrailers(bytes: Buffer, at: number): number {
    const carried = this.#carried;
    const { maxHeaderBytes, maxHeaderCount } = this.#limits;
    if (carried.length === 0) {
      if (bytes[at] === 13 && bytes[at + 1] === 10) {
        this.state = 'done';
        return at + 2;
      }
      // The CRLF of the last chunk's line opens the block: then "no trailers", even in pieces, is an ordinary block.
      carried.take(LINE_BREAK, 0, BLOCK_END, LINE_BREAK.length);
    }
    const before = carried.length;
    const text = carried.take(bytes, at, BLOCK_END, maxHeaderBytes);
    if (text === null) {
      const problem = unfinishedLinesProblem(carried, before);
      if (problem !== null) this.#fail(problem);
      else if (carried.length === maxHeaderBytes) this.#failTooLarge(`more than ${maxHeaderBytes} bytes of trailers`);
      return carried.next;
    }
    if (text.length > BLOCK_END.length) this.#parseTrailers(text, maxHeaderCount);
    this.state = 'done';
    return carried.next;
  }

  #parseTrailers(text: string, maxHeaderCount: number): void {
    const block = new Http1HeaderBlock();
    const problem = block.parse(text, LINE_BREAK.length, text.length - LINE_BREAK.length, maxHeaderCount);
    if (problem === TOO_MANY_FIELDS) this.#failTooLarge(`more than ${maxHeaderCount} trailers`);
    else if (problem !== null) this.#fail(problem);
    else {
      this.trailers = allowedTrailers(block.headers);
      this.hasFramingInTrailers = block.contentLength !== -1 || block.isChunked;
    }
  }

  #fail(message: string): void {
    this.problem = { reason: 'malformed', message };
  }

  #failTooLarge(message: string): void {
    this.problem = { reason: 'headers_too_large', message };
  }
}

function allowedTrailers(headers: HeaderList): HeaderList {
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? '';
    if (isAllowedInTrailers(name)) kept.push(name, headers[i + 1] ?? '');
  }
  return kept;
}

export interface ParserProblem {
  readonly reason: 'malformed' | 'headers_too_large';
  readonly message: string;
}
