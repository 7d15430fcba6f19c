import { randomFillSync } from 'node:crypto';
import type { Sampling } from './sampling.ts';

/** How many are made at a time. */
const COUNT = 170;
/** Random bytes of one. Two characters each are `traceparent` behind an unused one, once its hyphens, version and flags are written. */
const BYTES = 28;
const LENGTH = 2 * BYTES;
const TRACE_AT = 2;
const TRACE_BYTES = 16;
/** Not its first byte, of which the text has a half. */
const SPAN_AT = 19;
const FIXED = Object.entries({ 1: '0', 2: '0', 3: '-', 36: '-', 53: '-', 54: '0', 55: '0' }).map(
  ([at, text]) => [Number(at), text.charCodeAt(0)] as const,
);

/**
 * New traces, most of which are not recorded. They are made, decided and written out many at a time: random numbers, a decision and
 * texts for each request cost 3 % of it.
 */
export class NewContexts {
  readonly #sampling: Pick<Sampling, 'includesNew'>;
  readonly #recorded = new Uint8Array(COUNT);
  readonly #random = Buffer.alloc(COUNT * BYTES);
  readonly #numbers = new DataView(this.#random.buffer, this.#random.byteOffset, COUNT * BYTES);
  readonly #text = Buffer.alloc(COUNT * LENGTH);
  #contexts = '';
  #at = COUNT - 1;

  constructor(sampling: Pick<Sampling, 'includesNew'>) {
    this.#sampling = sampling;
  }

  /** Goes on to the next one, and returns whether it is recorded. */
  next(): boolean {
    this.#at += 1;
    if (this.#at === COUNT) this.#refill();
    return this.#recorded[this.#at] === 1;
  }

  /** `traceparent` of the current one, not recorded. It shares the text of all: what is kept needs a copy. */
  get traceparent(): string {
    const from = this.#at * LENGTH;
    return this.#contexts.slice(from + 1, from + LENGTH);
  }

  get traceId(): string {
    const from = this.#at * BYTES + TRACE_AT;
    return this.#random.toString('hex', from, from + TRACE_BYTES);
  }

  /** 32 bits of the trace id, of four times as many. */
  word(number: number): number {
    return this.#numbers.getUint32(this.#at * BYTES + TRACE_AT + number * 4);
  }

  #refill(): void {
    randomFillSync(this.#random);
    for (let context = 0; context < COUNT; context += 1) {
      this.#at = context;
      this.#avoidZeros(context * BYTES + TRACE_AT);
      this.#avoidZeros(context * BYTES + SPAN_AT);
      this.#recorded[context] = this.#sampling.includesNew(this) ? 1 : 0;
    }
    this.#at = 0;
    const text = this.#text;
    text.write(this.#random.toString('hex'), 'latin1');
    for (const [at, code] of FIXED) for (let into = at; into < text.length; into += LENGTH) text[into] = code;
    this.#contexts = text.toString('latin1');
  }

  /** Never in practice: an id of zeros is invalid (W3C Trace Context §3.2.2). */
  #avoidZeros(from: number): void {
    if (this.#numbers.getUint32(from) === 0) this.#random[from] = 1;
  }
}
