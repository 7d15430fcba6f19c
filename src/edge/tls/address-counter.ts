import { ownerOf } from '../../lib/net/address-owner.ts';

/** Counts what clients currently hold, in total and per address. A limit of 0 means none. */
export class AddressCounter {
  readonly #maxTotal: number;
  readonly #maxPerAddress: number;
  readonly #counts = new Map<string, number>();
  #total = 0;

  constructor(limits: { readonly maxTotal: number; readonly maxPerAddress: number }) {
    this.#maxTotal = limits.maxTotal;
    this.#maxPerAddress = limits.maxPerAddress;
  }

  get total(): number {
    return this.#total;
  }

  get addressCount(): number {
    return this.#counts.size;
  }

  /** Counts one more, or returns the exceeded limit. Each `null` must be followed by one `leave`. */
  enter(address: string): 'total' | 'address' | null {
    if (this.#maxTotal > 0 && this.#total >= this.#maxTotal) return 'total';
    const key = ownerOf(address);
    const count = this.#counts.get(key) ?? 0;
    if (this.#maxPerAddress > 0 && count >= this.#maxPerAddress) return 'address';
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
  }
}
