import type { Clock } from '../../lib/clock.ts';
import { LruMap } from '../../lib/lru-map.ts';
import type { InternalCa, Leaf, LeafRequest } from '../../pki/internal-ca.ts';

const MAX_LEAVES = 10_000;
/** A worker asks for the next one this long before the end: it must not get the same again. */
const RENEW_BEFORE_MS = 31 * 24 * 60 * 60 * 1000;

/** Leaves of the internal CA, the same for all workers. */
export class LeavesOnce {
  readonly #ca: Pick<InternalCa, 'mintLeaf'>;
  readonly #clock: Clock;
  readonly #leaves = new LruMap<string, Promise<Leaf>>(MAX_LEAVES);

  constructor(ca: Pick<InternalCa, 'mintLeaf'>, clock: Clock) {
    this.#ca = ca;
    this.#clock = clock;
  }

  async get(request: LeafRequest): Promise<Leaf> {
    const key = JSON.stringify(request);
    const known = this.#leaves.get(key);
    const leaf = await known?.catch(() => undefined);
    if (leaf !== undefined && leaf.notAfterMs - this.#clock.nowMs() > RENEW_BEFORE_MS) return leaf;
    // Another worker may have asked in the meantime.
    const current = this.#leaves.get(key);
    if (current !== undefined && current !== known) return current;
    const minted = this.#ca.mintLeaf(request);
    this.#leaves.set(key, minted);
    return minted;
  }
}
