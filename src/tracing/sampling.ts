import { hash } from 'node:crypto';

const RANGE = 2 ** 32;

/**
 * Which traces are recorded: a share of them, decided by trace id, so that all nodes decide alike about the requests of one
 * trace. The key keeps a client from choosing ids that are always recorded. Its sampled flag has no influence.
 */
export class Sampling {
  readonly #below: number;
  readonly #key: string;

  constructor(ratio: number, key: string) {
    this.#below = ratio * RANGE;
    this.#key = key;
  }

  includes(traceId: string): boolean {
    if (this.#below <= 0) return false;
    if (this.#below >= RANGE) return true;
    return hash('sha256', this.#key + traceId, 'buffer').readUInt32BE(0) < this.#below;
  }
}
