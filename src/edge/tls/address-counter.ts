import { ownerOf } from '../../lib/net/shared-places.ts';
import type { SharedTally } from '../../lib/process/shared-memory.ts';

/** An address may have this many, however few are free. */
const LEAST_SHARE = 8;

/**
 * Counts what clients currently hold, in total and per address. A limit of 0 means none. With a limit per address, an
 * address gets another one only while it holds fewer than are `free`.
 */
export class AddressCounter {
  readonly #maxTotal: number;
  readonly #maxPerAddress: number;
  readonly #counts = new Map<string, number>();
  readonly #threads: SharedTally | null;
  readonly #free: () => number;
  #total = 0;

  /** `threads`: the limits are those of all threads together. */
  constructor(
    limits: { readonly maxTotal: number; readonly maxPerAddress: number },
    threads: SharedTally | null = null,
    free: () => number = unlimited,
  ) {
    this.#free = free;
    this.#maxTotal = limits.maxTotal;
    this.#maxPerAddress = limits.maxPerAddress;
    this.#threads = threads;
  }

  get total(): number {
    return this.#total;
  }

  get addressCount(): number {
    return this.#counts.size;
  }

  /** Counts one more, or returns the exceeded limit. Each `null` must be followed by one `leave`. */
  enter(address: string): 'total' | 'address' | null {
    const threads = this.#threads;
    if (this.#maxTotal > 0 && (threads?.total ?? this.#total) >= this.#maxTotal) return 'total';
    const key = ownerOf(address);
    const count = this.#counts.get(key) ?? 0;
    if (this.#maxPerAddress > 0) {
      const most = Math.min(this.#maxPerAddress, Math.max(LEAST_SHARE, this.#free()));
      if ((threads?.of(key) ?? count) >= most) return 'address';
    }
    threads?.enter(key);
    this.#counts.set(key, count + 1);
    this.#total += 1;
    return null;
  }

  leave(address: string): void {
    const key = ownerOf(address);
    const count = this.#counts.get(key) ?? 0;
    if (count <= 1) this.#counts.delete(key);
    else this.#counts.set(key, count - 1);
    this.#total -= 1;
    this.#threads?.leave(key);
  }
}

function unlimited(): number {
  return Number.POSITIVE_INFINITY;
}
