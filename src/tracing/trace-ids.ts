import { randomFillSync } from 'node:crypto';

const TRACE_BYTES = 16;
const SPAN_BYTES = 8;
const POOL_BYTES = 4_096;

/** Random ids. They come from a pool: a call of the system's generator per id costs ten times as much. */
export class TraceIds {
  readonly #pool = Buffer.alloc(POOL_BYTES);
  #at = POOL_BYTES;

  traceId(): string {
    return this.#next(TRACE_BYTES);
  }

  spanId(): string {
    return this.#next(SPAN_BYTES);
  }

  #next(bytes: number): string {
    if (this.#at + bytes > POOL_BYTES) {
      randomFillSync(this.#pool);
      this.#at = 0;
    }
    const id = this.#pool.toString('hex', this.#at, this.#at + bytes);
    this.#at += bytes;
    // Never in practice: an id of zeros is invalid (W3C Trace Context §3.2.2).
    return /[1-9a-f]/.test(id) ? id : this.#next(bytes);
  }
}
