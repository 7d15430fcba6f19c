import type { HeaderList } from '../http/header-values.ts';
import { Http1HeaderBlock, isAllowedInTrailers, TOO_MANY_FIELDS } from './header-block.ts';

const NONE = Buffer.alloc(0);
const FIRST_CAPACITY = 512;
/** A connection that once received a large head does not keep the memory for it. */
const KEPT_CAPACITY = 4096;

/**
 * Finds the end of a line or of a block of lines that may arrive in any number of pieces. Input that arrives whole is
 * read in place. Only an unfinished remainder is copied, and each byte is examined once, however small the pieces.
 */
export class CarriedBytes {
  /** Where reading continues in the buffer passed to `take`. */
  next = 0;
  #bytes: Buffer = NONE;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /**
   * The text up to and including the terminator. Null when the terminator has not arrived, or not within `limit` bytes:
   * see `length`.
   */
  take(bytes: Buffer, at: number, terminator: Buffer, limit: number): string | null {
    const before = this.#length;
    if (before === 0) {
      const found = bytes.indexOf(terminator, at);
      if (found !== -1 && found + terminator.length - at <= limit) {
        this.next = found + terminator.length;
        return bytes.toString('latin1', at, this.next);
      }
    }
    const taken = Math.min(bytes.length - at, limit - before);
    this.#append(bytes, at, taken);
    const found = this.#bytes
      .subarray(0, this.#length)
      .indexOf(terminator, Math.max(0, before - terminator.length + 1));
    if (found === -1) {
      this.next = at + taken;
      return null;
    }
    const end = found + terminator.length;
    this.next = at + end - before;
    const text = this.#bytes.toString('latin1', 0, end);
    this.clear();
    return text;
  }

  /** The carried text, starting at `from`. */
  peek(from: number): string {
    return this.#bytes.toString('latin1', from, this.#length);
  }

  clear(): void {
    this.#length = 0;
    if (this.#bytes.length > KEPT_CAPACITY) this.#bytes = NONE;
  }

  #append(bytes: Buffer, at: number, count: number): void {
    const needed = this.#length + count;
    if (needed > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(FIRST_CAPACITY, this.#bytes.length * 2, needed));
      this.#bytes.copy(grown, 0, 0, this.#length);
      this.#bytes = grown;
    }
    bytes.copy(this.#bytes, this.#length, at, at + count);
    this.#length = needed;
  }
}

/** Looks only at a character and its predecessor, so that pieces can be checked one after the other. */
const WRONG_BYTE = /[^\t\r\n\x20-\x7e\x80-\xff]|(?<=\r)[^\n]|(?<!\r)\n/g;

/** Finds errors in lines that have not ended yet; `from` is the end of the part already checked. */
export function unfinishedLinesProblem(carried: CarriedBytes, from: number): string | null {
  const overlap = from > 0 ? 1 : 0;
  WRONG_BYTE.lastIndex = overlap;
  return WRONG_BYTE.test(carried.peek(from - overlap)) ? 'a forbidden byte in the headers' : null;
}

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
