import { hash } from 'node:crypto';
import { halfSipHash } from './half-sip-hash.ts';

const RANGE = 2 ** 32;

/**
 * Which traces are recorded: a share of them, decided by trace id, so that all nodes decide alike about the requests of one
 * trace. The key keeps a client from choosing ids that are always recorded. Its sampled flag has no influence.
 */
export class Sampling {
  readonly #below: number;
  readonly #keyLow: number;
  readonly #keyHigh: number;

  constructor(ratio: number, key: string) {
    const bytes = hash('sha256', key, 'buffer');
    this.#below = ratio * RANGE;
    this.#keyLow = bytes.readUInt32LE(0);
    this.#keyHigh = bytes.readUInt32LE(4);
  }

  includes(traceId: string): boolean {
    if (this.#below <= 0) return false;
    if (this.#below >= RANGE) return true;
    const words = [wordAt(traceId, 0), wordAt(traceId, 8), wordAt(traceId, 16), wordAt(traceId, 24)];
    return halfSipHash(words, this.#keyLow, this.#keyHigh) < this.#below;
  }
}

function wordAt(traceId: string, at: number): number {
  return Number.parseInt(traceId.slice(at, at + 8), 16);
}
