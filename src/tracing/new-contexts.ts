import { randomFillSync } from 'node:crypto';
import type { Sampling } from './sampling.ts';

const TRACE_BYTES = 16;
const SPAN_BYTES = 8;
const BYTES = TRACE_BYTES + SPAN_BYTES;
/** How many are made at a time. */
const COUNT = 170;
/** `00`, a trace id, a span id and the flags, as `traceparent` has them. */
const TEMPLATE = `00-${'0'.repeat(2 * TRACE_BYTES)}-${'0'.repeat(2 * SPAN_BYTES)}-00`;
const TRACE_AT = 3;
const SPAN_AT = TRACE_AT + 2 * TRACE_BYTES + 1;
const DIGITS = Buffer.from('0123456789abcdef', 'latin1');

/**
 * New traces, most of which are not recorded. They are made, decided and written out many at a time: random numbers, a decision and
 * texts for each request cost 3 % of it.
 */
export class NewContexts {
  readonly #sampling: Pick<Sampling, 'includesNew'>;
  readonly #recorded = new Uint8Array(COUNT);
  readonly #random = Buffer.alloc(COUNT * BYTES);
  readonly #text = Buffer.from(TEMPLATE.repeat(COUNT), 'latin1');
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
    const from = this.#at * TEMPLATE.length;
    return this.#contexts.slice(from, from + TEMPLATE.length);
  }

  get traceId(): string {
    const from = this.#at * BYTES;
    return this.#random.toString('hex', from, from + TRACE_BYTES);
  }

  /** 32 bits of the trace id, of four times as many. */
  word(number: number): number {
    return this.#random.readUInt32BE(this.#at * BYTES + number * 4);
  }

  #refill(): void {
    randomFillSync(this.#random);
    for (let context = 0; context < COUNT; context += 1) {
      this.#at = context;
      const from = context * BYTES;
      this.#avoidZeros(from);
      this.#avoidZeros(from + TRACE_BYTES);
      this.#recorded[context] = this.#sampling.includesNew(this) ? 1 : 0;
      const text = context * TEMPLATE.length;
      this.#write(from, TRACE_BYTES, text + TRACE_AT);
      this.#write(from + TRACE_BYTES, SPAN_BYTES, text + SPAN_AT);
    }
    this.#at = 0;
    this.#contexts = this.#text.toString('latin1');
  }

  /** Never in practice: an id of zeros is invalid (W3C Trace Context §3.2.2). */
  #avoidZeros(from: number): void {
    if (this.#random.readUInt32BE(from) === 0) this.#random[from] = 1;
  }

  #write(from: number, count: number, into: number): void {
    for (let at = 0; at < count; at += 1) {
      const byte = this.#random[from + at] as number;
      this.#text[into + 2 * at] = DIGITS[byte >> 4] as number;
      this.#text[into + 2 * at + 1] = DIGITS[byte & 15] as number;
    }
  }
}
