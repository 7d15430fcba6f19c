import { hash } from 'node:crypto';
import { LruMap } from '../../../lib/lru-map.ts';
import type { LoginRecords } from '../../module-runtime.ts';
import { type Flow, flowEndsAtMs } from '../cookies/flow-cookies.ts';

/** Replays of what was spent here cost no look-up in the store. */
const MAX_KNOWN = 10_000;

/** Which logins under way have been redeemed: each is good for one token request, at one of the processes on a store. */
export class SpentStates {
  readonly #records: Pick<LoginRecords, 'claimOnce'>;
  readonly #known = new LruMap<string, true>(MAX_KNOWN);

  constructor(records: Pick<LoginRecords, 'claimOnce'>) {
    this.#records = records;
  }

  isKnown({ state }: Flow): boolean {
    return this.#known.get(state) !== undefined;
  }

  /** True for the first caller only. Fails when the store is away: then nothing is spent. */
  async spend(flow: Flow): Promise<boolean> {
    const isFirst = await this.#records.claimOnce(`state:${hash('sha256', flow.state)}`, flowEndsAtMs(flow));
    this.#known.set(flow.state, true);
    return isFirst;
  }
}
