import { Readable } from 'node:stream';
import type { HeaderList } from '../../../kit/http/header-values.ts';
import { METHODS } from '../../../kit/http/node-http.ts';
import {
  type CarriedBytes,
  type ChunkedBodyLimits,
  Http1ChunkedBody,
  type ParserProblem,
  unfinishedLinesProblem,
} from '../../../kit/http1/chunked-body.ts';
import { FieldLines, type HeaderName } from '../../../kit/http1/header-block.ts';
import { BodyPieces, isSmallPiece } from './small-pieces.ts';

/** Any other byte is a space, a control character or DEL: two programs could read the line differently. */
const BAD_TARGET = /[^\x21-\x7e\x80-\xff]/;
const VERSION = ' HTTP/1.';
const ZERO = 48;
const SPACE = 32;

/** Proxy-Connection, which some clients send instead of Connection to what they take for a proxy. */
function isForProxies(name: string, kind: HeaderName['kind']): boolean {
  return kind === 'hop-by-hop' && name.endsWith('-connection');
}

/**
 * Request line and fields of an HTTP/1.1 request (RFC 9112 §3, §5). Only their form: `readHead` decides what they mean,
 * including the framing. One instance per connection, refilled for each request. Only `headers` is allocated each time.
 */
export class Http1RequestStart extends FieldLines {
  method = '';
  target = '';
  isHttp11 = false;
  /** Flat, as received and in order, names in lower case. */
  headers: string[] = [];
  /** The client may send another request on this connection. */
  isKeptAlive = false;
  /** The request has Upgrade, and Connection announces that. */
  asksToSwitch = false;
  /** The protocols in Upgrade, in lower case. */
  upgrade = '';
  #hasTransferEncoding = false;
  #hasClose = false;
  #hasKeepAlive = false;
  #hasUpgradeOption = false;

  /** Parses a head with its empty line. Returns the problem, or null. */
  parse(text: string, maxHeaderCount: number): string | null {
    this.#reset();
    // RFC 9112 §2.2: an empty line before the request is ignored, here one that came in pieces.
    const linesAt = this.#parseLine(text, text.startsWith('\r\n') ? 2 : 0);
    if (linesAt === -1) return 'a malformed request line';
    const problem = this.parseLines(text, linesAt, text.length - 2, maxHeaderCount);
    if (problem !== null) return problem;
    // RFC 9112 §6.1: such a sender cannot be interpreted reliably.
    if (!this.isHttp11 && this.#hasTransferEncoding) return 'Transfer-Encoding in an HTTP/1.0 request';
    this.isKeptAlive = !this.#hasClose && (this.isHttp11 || this.#hasKeepAlive);
    this.asksToSwitch &&= this.#hasUpgradeOption;
    return null;
  }

  #reset(): void {
    this.headers = [];
    this.asksToSwitch = false;
    this.upgrade = '';
    this.#hasTransferEncoding = false;
    this.#hasClose = false;
    this.#hasKeepAlive = false;
    this.#hasUpgradeOption = false;
  }

  /** Returns where the fields begin, or -1. */
  #parseLine(text: string, start: number): number {
    const methodEnd = text.indexOf(' ', start);
    const lineEnd = text.indexOf('\r\n', start);
    const targetEnd = lineEnd - VERSION.length - 1;
    if (methodEnd === -1 || targetEnd <= methodEnd || !text.startsWith(VERSION, targetEnd)) return -1;
    const minor = text.charCodeAt(lineEnd - 1) - ZERO;
    // RFC 9112 §3 allows more white space here: an upstream never sees it.
    let targetAt = methodEnd + 1;
    while (text.charCodeAt(targetAt) === SPACE) targetAt += 1;
    const target = text.substring(targetAt, targetEnd);
    if ((minor !== 0 && minor !== 1) || targetAt >= targetEnd || BAD_TARGET.test(target)) return -1;
    this.method = text.substring(start, methodEnd);
    this.target = target;
    this.isHttp11 = minor === 1;
    return lineEnd + 2;
  }

  protected override field({ name, kind }: HeaderName, value: string): null {
    this.headers.push(name, value);
    if (kind === 'connection' || isForProxies(name, kind)) this.#noteConnection(value);
    else if (kind === 'upgrade') this.#noteUpgrade(value.toLowerCase());
    else if (kind === 'transfer-encoding') this.#hasTransferEncoding = true;
    return null;
  }

  #noteUpgrade(value: string): void {
    this.upgrade = this.asksToSwitch ? `${this.upgrade}, ${value}` : value;
    this.asksToSwitch = true;
  }

  #noteConnection(value: string): void {
    for (const token of value.toLowerCase().split(',')) {
      const option = token.trim();
      if (option === 'close') this.#hasClose = true;
      else if (option === 'keep-alive') this.#hasKeepAlive = true;
      else if (option === 'upgrade') this.#hasUpgradeOption = true;
    }
  }
}

const LONGEST_METHOD = Math.max(...METHODS.map(({ length }) => length));

/**
 * Whether the beginning of a request is malformed; `from` is the end of the part already checked. Detected at once, not
 * after a timeout: a head with bare LFs, or of another protocol, would never end.
 */
export function unfinishedStartProblem(carried: CarriedBytes, from: number): boolean {
  if (from <= LONGEST_METHOD + 2 && !startsLikeMethod(carried.peek(0).replace(/^\r\n/, ''))) return true;
  return unfinishedLinesProblem(carried, from) !== null;
}

function startsLikeMethod(text: string): boolean {
  if (text === '' || text === '\r') return true;
  const start = text.slice(0, LONGEST_METHOD + 1);
  return METHODS.some((method) => `${method} `.startsWith(start) || start.startsWith(`${method} `));
}

/** The connection that a body arrives on. */
export interface BodyOwner {
  /** The reader takes more than has arrived. */
  onBodyWanted(): void;
  /** The reader cannot accept more for now. */
  onBodyFull(): void;
}

const NO_TRAILERS: HeaderList = [];
const FRAMING_IN_TRAILERS: ParserProblem = { reason: 'malformed', message: 'framing in the trailers' };

/** The body of an HTTP/1.1 request: its connection feeds it, its exchange reads it. */
export class Http1RequestBody extends Readable {
  /** The last byte, and the trailers, have arrived. */
  isWhole = false;
  problem: ParserProblem | null = null;
  readonly #owner: BodyOwner;
  readonly #chunked: Http1ChunkedBody | null;
  /** Small chunks that count, until `takeSmallPieces`. */
  #smallPieces = 0;
  readonly #pieces = new BodyPieces();
  /** Small chunks of one read, which go up as one: each would be a write to the upstream. */
  #gathered: Buffer[] = [];
  #remaining: number;
  #isDiscarded = false;

  /** `bytes` null: it is chunked. */
  constructor(owner: BodyOwner, bytes: number | null, limits: ChunkedBodyLimits) {
    super();
    this.#owner = owner;
    this.#remaining = bytes ?? 0;
    this.#chunked = bytes === null ? new Http1ChunkedBody(limits) : null;
  }

  get trailers(): HeaderList {
    return this.#chunked?.trailers ?? NO_TRAILERS;
  }

  override _read(): void {
    this.#owner.onBodyWanted();
  }

  /** Returns where its bytes end. Check `isWhole` and `problem` afterwards. */
  feed(bytes: Buffer, from: number): number {
    const chunked = this.#chunked;
    if (chunked === null) return this.#takeLength(bytes, from);
    let at = from;
    while (at < bytes.length && chunked.problem === null && chunked.state !== 'done') {
      if (chunked.state === 'data') {
        const count = chunked.takeData(bytes.length - at);
        this.#takeChunk(bytes, at, at + count);
        at += count;
      } else at = chunked.readFraming(bytes, at);
    }
    this.#handUpGathered();
    // Other programs might merge it into the head.
    this.problem = chunked.hasFramingInTrailers ? FRAMING_IN_TRAILERS : chunked.problem;
    if (chunked.state === 'done' && this.problem === null) this.#complete();
    return at;
  }

  /** Nobody reads it any longer: the rest is counted and dropped. */
  discard(): void {
    this.#isDiscarded = true;
    this.destroy();
    this.#owner.onBodyWanted();
  }

  /** How many have arrived since the last call. */
  takeSmallPieces(): number {
    const count = this.#smallPieces;
    this.#smallPieces = 0;
    return count;
  }

  #takeChunk(bytes: Buffer, from: number, to: number): void {
    if (this.#pieces.isCounted(to - from)) this.#smallPieces += 1;
    if (isSmallPiece(to - from)) {
      if (!this.#isDiscarded) this.#gathered.push(bytes.subarray(from, to));
      return;
    }
    this.#handUpGathered();
    this.#handUp(bytes, from, to);
  }

  #handUpGathered(): void {
    const gathered = this.#gathered;
    const [first] = gathered;
    if (first === undefined) return;
    this.#gathered = [];
    const whole = gathered.length === 1 ? first : Buffer.concat(gathered);
    this.#handUp(whole, 0, whole.length);
  }

  #takeLength(bytes: Buffer, from: number): number {
    const count = Math.min(bytes.length - from, this.#remaining);
    this.#remaining -= count;
    this.#handUp(bytes, from, from + count);
    if (this.#remaining === 0) this.#complete();
    return from + count;
  }

  #handUp(bytes: Buffer, from: number, to: number): void {
    if (this.#isDiscarded) return;
    const chunk = from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to);
    if (!this.push(chunk)) this.#owner.onBodyFull();
  }

  #complete(): void {
    this.isWhole = true;
    if (!this.#isDiscarded) this.push(null);
  }
}

const NOTHING = Buffer.alloc(0);
/** With more, nothing is read: a client that disconnects is then noticed only when a response is sent to it. */
const MAX_BYTES = 16_384;
/** A piece takes more memory than its bytes. */
const MAX_PIECES = 64;

/** Bytes that have arrived and must wait. */
export class HeldBytes {
  length = 0;
  #pieces: Buffer[] = [];

  /** No more should be read. */
  get isFull(): boolean {
    return this.length > MAX_BYTES || this.#pieces.length > MAX_PIECES;
  }

  add(bytes: Buffer): void {
    this.#pieces.push(bytes);
    this.length += bytes.length;
  }

  take(): Buffer {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.length = 0;
    return pieces.length === 1 ? (pieces[0] ?? NOTHING) : Buffer.concat(pieces);
  }
}
