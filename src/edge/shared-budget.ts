import { ownerOf } from '../lib/net/address-owner.ts';

/** An address may hold this many even of a small budget: browsers open dozens of requests at once, and offices share an address. */
const LEAST_SHARE = 64;

export interface SharedBudgetOptions {
  /** 0: no limit. */
  readonly max: number;
  /** Share that one address may hold while the budget is scarce. */
  readonly sharePercent: number;
  /** Addresses of all current holders, once per place. */
  readonly holders: () => Iterable<string>;
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
  #held = 0;
  #byAddress: Map<string, number> | null = null;

  constructor({ max, sharePercent, holders }: SharedBudgetOptions) {
    this.#max = max;
    this.#scarceAt = max === 0 || sharePercent >= 100 ? Number.POSITIVE_INFINITY : Math.ceil(max / 2);
    this.#share = Math.max(LEAST_SHARE, Math.floor((max * sharePercent) / 100));
    this.#holders = holders;
  }

  get held(): number {
    return this.#held;
  }

  get isScarce(): boolean {
    return this.#held >= this.#scarceAt;
  }

  /** Whether this part is held; 1 means all of it. */
  isUsed(part: number): boolean {
    return this.#max > 0 && this.#held >= Math.ceil(this.#max * part);
  }

  /** Only while scarce: whether the address already holds its share. */
  isShareUsed(address: string): boolean {
    return (this.#byAddress?.get(ownerOf(address)) ?? 0) >= this.#share;
  }

  /** The new holder is already one of `holders`. */
  enter(address: string): void {
    this.#held += 1;
    if (this.#byAddress !== null) count(this.#byAddress, address, 1);
    else if (this.isScarce) this.#byAddress = counted(this.#holders());
  }

  leave(address: string): void {
    this.#held -= 1;
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
