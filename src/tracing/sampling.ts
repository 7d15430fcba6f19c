import { hash } from 'node:crypto';
import { halfSipHash } from './half-sip-hash.ts';

const RANGE = 2 ** 32;
const WORDS = 4;
const DIGITS_PER_WORD = 8;
const CODE_OF_NINE = 57;

/** A trace id as four numbers of 32 bits. */
export interface TraceIdWords {
  word(number: number): number;
}

/**
 * Which traces are recorded: a share of them, decided by trace id, so that all nodes decide alike about the requests of one
 * trace. The key keeps a client from choosing ids that are always recorded. Its sampled flag has no influence.
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
