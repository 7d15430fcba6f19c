import { hash, randomFillSync } from 'node:crypto';
import type { HeaderList } from '../../kit/http/header-values.ts';
import { RecordedTrace, type RequestTrace, UnrecordedTrace } from './request-trace.ts';
import type { FinishedSpan, SpanCounts, SpanQueue } from './span-queue.ts';
import { formatTraceparent, TraceIds, traceParentOf } from './trace-context.ts';

/** HalfSipHash-2-4: rounds per word of the message, and after the last one. */
const [WORD_ROUNDS, FINAL_ROUNDS] = [2, 4];

/**
 * 32 bits from words and a secret key of 64 bits (Aumasson and Bernstein, "SipHash: a fast short-input PRF"). SHA-256
 * is a call into OpenSSL that takes 2 µs, this takes a fraction.
 */
export function halfSipHash(words: ArrayLike<number>, low: number, high: number): number {
  let [v0, v1, v2, v3] = [low | 0, high | 0, 0x6c796765 ^ low, 0x74656462 ^ high];
  for (let at = 0; at <= words.length + 1; at += 1) {
    const isFinal = at > words.length;
    // The word after the last has the number of bytes in its upper byte.
    const word = isFinal ? 0 : at === words.length ? words.length << 26 : (words[at] as number);
    v3 ^= word;
    if (isFinal) v2 ^= 0xff;
    for (let round = isFinal ? FINAL_ROUNDS : WORD_ROUNDS; round > 0; round -= 1) {
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
    }
    v0 ^= word;
  }
  return (v1 ^ v3) >>> 0;
}

const RANGE = 2 ** 32;
const WORDS = 4;
const DIGITS_PER_WORD = 8;
const CODE_OF_NINE = 57;

/** A trace id as four numbers of 32 bits. */
interface TraceIdWords {
  word(number: number): number;
}

/**
 * Which traces are recorded: a share of them, decided by trace id, so that all nodes decide alike about the requests of
 * one trace. The key keeps a client from choosing ids that are always recorded. Its sampled flag has no influence.
 */
export class Sampling {
  readonly #below: number;
  readonly #keyLow: number;
  readonly #keyHigh: number;
  readonly #words = new Uint32Array(WORDS);

  constructor(ratio: number, key: string) {
    const bytes = hash('sha256', key, 'buffer');
    this.#below = ratio * RANGE;
    this.#keyLow = bytes.readUInt32LE(0);
    this.#keyHigh = bytes.readUInt32LE(4);
  }

  /** `traceId`: 32 hexadecimal digits in lower case. */
  includes(traceId: string): boolean {
    for (let number = 0; number < WORDS; number += 1) this.#words[number] = wordAt(traceId, number * DIGITS_PER_WORD);
    return this.#includesWords();
  }

  /** The same for an id that has not been written out. */
  includesNew(traceId: TraceIdWords): boolean {
    for (let number = 0; number < WORDS; number += 1) this.#words[number] = traceId.word(number);
    return this.#includesWords();
  }

  #includesWords(): boolean {
    if (this.#below <= 0) return false;
    if (this.#below >= RANGE) return true;
    return halfSipHash(this.#words, this.#keyLow, this.#keyHigh) < this.#below;
  }
}

/** `parseInt` of a part takes ten times as long. */
function wordAt(traceId: string, from: number): number {
  let word = 0;
  for (let at = from; at < from + DIGITS_PER_WORD; at += 1) {
    const code = traceId.charCodeAt(at);
    // The digits of a to f are the lower four bits plus 9.
    word = (word << 4) | ((code & 15) + (code > CODE_OF_NINE ? 9 : 0));
  }
  return word;
}

/** How many are made at a time. */
const COUNT = 170;
/**
 * Random bytes of one. Two characters each are `traceparent` behind an unused one, once its hyphens, version and flags
 * are written.
 */
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
 * New traces, most of which are not recorded. They are made, decided and written out many at a time: random numbers, a
 * decision and texts for each request cost 3 % of it.
 */
class NewContexts {
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

/** What a server needs to trace requests; null in its place: it does not. */
export class Tracing {
  readonly #queue: SpanQueue;
  readonly #sampling: Sampling;
  readonly #ids = new TraceIds();
  readonly #contexts: NewContexts;

  constructor(queue: SpanQueue, options: { readonly sampleRatio: number; readonly samplingKey: string }) {
    this.#queue = queue;
    this.#sampling = new Sampling(options.sampleRatio, options.samplingKey);
    this.#contexts = new NewContexts(this.#sampling);
  }

  /** `headers`: of the client. */
  begin(headers: HeaderList): RequestTrace {
    const parent = traceParentOf(headers);
    if (parent === null) return this.#beginNew();
    const { traceId, state } = parent;
    if (this.#sampling.includes(traceId)) return new RecordedTrace(traceId, parent, this.#ids);
    return new UnrecordedTrace(formatTraceparent(traceId, this.#ids.spanId(), false), state);
  }

  /** First the decision: a request that is not recorded needs no more than a text for its upstream. */
  #beginNew(): RequestTrace {
    if (this.#contexts.next()) return new RecordedTrace(this.#contexts.traceId, null, this.#ids);
    return new UnrecordedTrace(this.#contexts.traceparent, null);
  }

  send(spans: readonly FinishedSpan[]): void {
    this.#queue.send(spans);
  }

  get counts(): Readonly<SpanCounts> {
    return this.#queue.counts;
  }

  get queued(): number {
    return this.#queue.queued;
  }

  /** Sends the rest, for at most `withinMs`. */
  close(withinMs: number): Promise<void> {
    return this.#queue.close(withinMs);
  }
}
