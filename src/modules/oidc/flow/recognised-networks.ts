import { LruMap } from '../../../lib/lru-map.ts';

/** About 5 MB. Only logins that succeed write here, so a flood of failures pushes nothing out. */
const MAX_RECOGNISED = 50_000;
/** Token requests that may fail or be under way before the network has to succeed again. */
const CREDIT = 10;

/**
 * Addresses (IPv6: /64) from which somebody logged in at an issuer, each with a credit that failures use up and a success renews: who
 * has one account cannot turn it into a licence to fail.
 */
export class RecognisedNetworks {
  readonly #credits = new LruMap<string, number>(MAX_RECOGNISED);

  has(key: string): boolean {
    return (this.#credits.get(key) ?? 0) > 0;
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
    const credit = this.#credits.get(key);
    if (credit !== undefined) this.#credits.set(key, Math.min(CREDIT, Math.max(0, credit + change)));
  }
}
