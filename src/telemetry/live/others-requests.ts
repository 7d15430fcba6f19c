import type { Clock } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';

interface IdentifiedRequest extends JsonObject {
  readonly id: string;
}

/** Overlap of two questions: requests reach a node's history a moment after they end, and clocks differ. */
const OVERLAP_MS = 2_000;
const MAX_KNOWN = 2_000;

/** Asks the other nodes for the requests that they have finished since the last time. */
export class OthersRequests {
  readonly #list: (sinceMs: number) => Promise<readonly IdentifiedRequest[]>;
  readonly #clock: Clock;
  readonly #known = new Set<string>();
  #sinceMs = 0;

  /** `list`: requests of other nodes that finished at this time or later, newest first. */
  constructor(list: (sinceMs: number) => Promise<readonly IdentifiedRequest[]>, clock: Clock) {
    this.#list = list;
    this.#clock = clock;
  }

  /** Oldest first. After a pause, nothing from before it. */
  async next(): Promise<readonly IdentifiedRequest[]> {
    const nowMs = this.#clock.nowMs();
    const sinceMs = Math.max(this.#sinceMs, nowMs - OVERLAP_MS * 2);
    this.#sinceMs = nowMs - OVERLAP_MS;
    const fresh = (await this.#list(sinceMs)).filter(({ id }) => !this.#known.has(id));
    for (const { id } of fresh) this.#known.add(id);
    for (const id of this.#known) {
      if (this.#known.size <= MAX_KNOWN) break;
      this.#known.delete(id);
    }
    return fresh.toReversed();
  }
}
