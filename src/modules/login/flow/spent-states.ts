import { hash } from 'node:crypto';
import { LruMap } from '../../../lib/lru-map.ts';
import type { LoginRecords } from '../login-store.ts';

/** Replays of states used here cost no lookup in the store. */
const MAX_KNOWN = 10_000;

/** A login in progress: the `state` of its requests, and when it can no longer be used. */
export interface SpendableState {
  readonly state: string;
  readonly endsAtMs: number;
}

/**
 * Which logins in progress have been redeemed: each is valid for one token request, at one of the processes on a store.
 */
export class SpentStates {
  readonly #records: Pick<LoginRecords, 'claimOnce'>;
  readonly #known = new LruMap<string, true>(MAX_KNOWN);
  readonly #claims = new Map<string, Promise<boolean>>();

  constructor(records: Pick<LoginRecords, 'claimOnce'>) {
    this.#records = records;
  }

  /**
   * The claim of another copy of the same callback, or null. It fails as that claim fails. A waiting copy does not
   * count against the limits of logins.
   */
  claimOfAnother({ state }: SpendableState): Promise<unknown> | null {
    return this.#known.get(state) === undefined ? (this.#claims.get(state) ?? null) : Promise.resolve();
  }

  /** True for the first caller only. Fails when the store is unavailable: then nothing is spent. */
  async spend({ state, endsAtMs }: SpendableState): Promise<boolean> {
    const claim = this.#records.claimOnce(`state:${hash('sha256', state)}`, endsAtMs);
    this.#claims.set(state, claim);
    try {
      const isFirst = await claim;
      this.#known.set(state, true);
      return isFirst;
    } finally {
      this.#claims.delete(state);
    }
  }
}
