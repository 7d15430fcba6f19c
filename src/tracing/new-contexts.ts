import { randomFillSync } from 'node:crypto';

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
 * New traces that may turn out not to be recorded. They are made and written out many at a time: random numbers and texts for each
 * request cost 2 % of it.
 */
export class NewContexts {
  readonly #random = Buffer.alloc(COUNT * BYTES);
  readonly #text = Buffer.from(TEMPLATE.repeat(COUNT), 'latin1');
  #contexts = '';
  #at = COUNT - 1;

  /** Goes on to the next one. */
  next(): void {
    do {
      this.#at += 1;
      if (this.#at === COUNT) this.#refill();
    } while (!this.#isValid());
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

  /** W3C Trace Context §3.2.2: ids of zeros are not. Those that come close to it are left out too. */
  #isValid(): boolean {
    const from = this.#at * BYTES;
    return this.#random.readUInt32BE(from) !== 0 && this.#random.readUInt32BE(from + TRACE_BYTES) !== 0;
  }

  #refill(): void {
    this.#at = 0;
    randomFillSync(this.#random);
    for (let context = 0; context < COUNT; context += 1) {
      const text = context * TEMPLATE.length;
      this.#write(context * BYTES, TRACE_BYTES, text + TRACE_AT);
      this.#write(context * BYTES + TRACE_BYTES, SPAN_BYTES, text + SPAN_AT);
    }
    this.#contexts = this.#text.toString('latin1');
  }

  #write(from: number, count: number, into: number): void {
    for (let at = 0; at < count; at += 1) {
      const byte = this.#random[from + at] as number;
      this.#text[into + 2 * at] = DIGITS[byte >> 4] as number;
      this.#text[into + 2 * at + 1] = DIGITS[byte & 15] as number;
    }
  }
}
