import { Readable } from 'node:stream';
import type { HeaderList } from '../../lib/http/header-values.ts';
import { type ChunkedBodyLimits, Http1ChunkedBody, type ParserProblem } from '../../lib/http1/chunked-body.ts';

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
        this.#handUp(bytes, at, at + count);
        at += count;
      } else at = chunked.readFraming(bytes, at);
    }
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
