import { LruMap } from '../../../lib/lru-map.ts';

/** About 5 MB. Only clients that have logged in write here, so a flood of failures evicts nothing. */
const MAX_RECOGNIZED = 50_000;
/** Token requests that may fail or be in progress before the client has to succeed again. */
const CREDIT = 10;

/**
 * Addresses (IPv6: /64) or browsers from which a user has logged in at an issuer, each with a credit that failures use
 * up and a success renews: one account cannot be turned into a license to fail.
 */
export class RecognizedClients {
  readonly #credits = new LruMap<string, number>(MAX_RECOGNIZED);
  readonly #unseen: number;

  /** `areProven`: those that were not seen here have proved a login before, and have the whole credit. */
  constructor({ areProven }: { readonly areProven: boolean }) {
    this.#unseen = areProven ? CREDIT : 0;
  }

  has(key: string): boolean {
    return (this.#credits.get(key) ?? this.#unseen) > 0;
  }

  use(key: string): void {
    this.#add(key, -1);
  }

  giveBack(key: string): void {
    this.#add(key, 1);
  }

  succeeded(key: string): void {
    this.#credits.set(key, CREDIT);
  }

  #add(key: string, change: number): void {
    const credit = this.#credits.get(key) ?? this.#unseen;
    if (credit > 0 || this.#credits.get(key) !== undefined)
      this.#credits.set(key, Math.min(CREDIT, Math.max(0, credit + change)));
  }
}
