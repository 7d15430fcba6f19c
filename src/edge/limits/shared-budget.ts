import { ownerOf } from '../../lib/net/shared-places.ts';
import type { SharedTally } from '../../lib/process/shared-memory.ts';

/** An address may hold this many even of a small budget: browsers open dozens of requests at once, and offices share an address. */
const LEAST_SHARE = 64;

export interface SharedBudgetOptions {
  /** 0: no limit. */
  readonly max: number;
  /** Share that one address may hold while the budget is scarce. */
  readonly sharePercent: number;
  /** Addresses of all current holders, once per place. */
  readonly holders: () => Iterable<string>;
  /** The places of all threads together, which count by address all the time. Null: there is one thread. */
  readonly threads?: SharedTally | null;
}

/**
 * A number of places shared by all clients. The budget is scarce from half of it on; then an address that holds its
 * share gets no further place, so that the rest is left to others. An IPv6 /64 counts as one address.
 *
 * Addresses are counted only while the budget is scarce: far from the limit a request costs an addition. Counting ends
 * at a quarter, so that recounting all holders, when it starts again, is amortized over as many changes.
 */
export class SharedBudget {
  readonly #max: number;
  readonly #scarceAt: number;
  readonly #share: number;
  readonly #holders: () => Iterable<string>;
  readonly #threads: SharedTally | null;
  #held = 0;
  #byAddress: Map<string, number> | null = null;

  constructor({ max, sharePercent, holders, threads = null }: SharedBudgetOptions) {
    this.#max = max;
    this.#scarceAt = max === 0 || sharePercent >= 100 ? Number.POSITIVE_INFINITY : Math.ceil(max / 2);
    this.#share = Math.max(LEAST_SHARE, Math.floor((max * sharePercent) / 100));
    this.#holders = holders;
    this.#threads = threads;
  }

  get held(): number {
    return this.#held;
  }

  /** Those of all threads. */
  get #heldByAll(): number {
    return this.#threads?.total ?? this.#held;
  }

  get isScarce(): boolean {
    return this.#heldByAll >= this.#scarceAt;
  }

  /** For passes that every thread makes at its own times: held now, or at the last pass of any of them. */
  isUsedInPass(part: number, everyMs: number): boolean {
    const threads = this.#threads;
    if (threads === null) return this.isUsed(part);
    if (this.isUsed(part)) threads.mark();
    return threads.wasMarkedWithin(everyMs);
  }

  /** Whether this part is held; 1 means all of it. */
  isUsed(part: number): boolean {
    return this.#max > 0 && this.#heldByAll >= Math.ceil(this.#max * part);
  }

  /** Only while scarce: whether the address already holds its share. */
  isShareUsed(address: string): boolean {
    const held = this.#threads?.of(ownerOf(address)) ?? this.#byAddress?.get(ownerOf(address)) ?? 0;
    return held >= this.#share;
  }

  /** The new holder is already one of `holders`. */
  enter(address: string): void {
    this.#held += 1;
    if (this.#threads !== null) this.#threads.enter(ownerOf(address));
    else if (this.#byAddress !== null) count(this.#byAddress, address, 1);
    else if (this.isScarce) this.#byAddress = counted(this.#holders());
  }

  leave(address: string): void {
    this.#held -= 1;
    this.#threads?.leave(ownerOf(address));
    if (this.#byAddress === null) return;
    if (this.#held < this.#scarceAt / 2) this.#byAddress = null;
    else count(this.#byAddress, address, -1);
  }
}

function counted(addresses: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const address of addresses) count(counts, address, 1);
  return counts;
}

function count(counts: Map<string, number>, address: string, by: 1 | -1): void {
  const owner = ownerOf(address);
  const now = (counts.get(owner) ?? 0) + by;
  if (now > 0) counts.set(owner, now);
  else counts.delete(owner);
}
