import type { Clock } from '../lib/clock.ts';
import { ownerOf } from '../lib/net/address-owner.ts';
import { apiErrors } from './errors.ts';

const FREE_FAILURES = 20;
const REFILL_PER_SECOND = 0.5;
const DELAY_MS = 1000;
const MAX_WAITING_PER_ADDRESS = 20;
const MAX_ADDRESSES = 10_000;

interface Address {
  failures: number;
  atMs: number;
  waiting: number;
}

/**
 * Delays failed authentication per address; an IPv6 /64 counts as one address. The first few failures are free, each
 * further one is delayed, and only a limited number may wait.
 */
export class FailedAuthenticationDelay {
  readonly #addresses = new Map<string, Address>();
  readonly #clock: Clock;
  readonly #sleep: (ms: number) => Promise<void>;

  constructor(clock: Clock, sleep: (ms: number) => Promise<void>) {
    this.#clock = clock;
    this.#sleep = sleep;
  }

  /** Whether the next failure of this address is not delayed. */
  isFree(address: string): boolean {
    return this.#entry(ownerOf(address)).failures < FREE_FAILURES;
  }

  /** Await this before responding to a failed authentication. Throws 429 when too many are already waiting. */
  async wait(address: string): Promise<void> {
    const entry = this.#entry(ownerOf(address));
    entry.failures += 1;
    if (entry.failures <= FREE_FAILURES) return;
    if (entry.waiting >= MAX_WAITING_PER_ADDRESS) {
      throw apiErrors.create(
        'ERR_POSTERN_RATE_LIMITED',
        'too many failed authentications from this address: wait a few seconds',
        {
          headers: { 'retry-after': '5' },
        },
      );
    }
    entry.waiting += 1;
    try {
      await this.#sleep(DELAY_MS);
    } finally {
      entry.waiting -= 1;
    }
  }

  #entry(address: string): Address {
    const nowMs = this.#clock.nowMs();
    const known = this.#addresses.get(address);
    if (known !== undefined) {
      known.failures = Math.max(0, known.failures - ((nowMs - known.atMs) / 1000) * REFILL_PER_SECOND);
      known.atMs = nowMs;
      return known;
    }
    // Evicts the oldest: counting does not stop an attacker with that many addresses.
    if (this.#addresses.size >= MAX_ADDRESSES) this.#addresses.delete(this.#addresses.keys().next().value ?? '');
    const entry = { failures: 0, atMs: nowMs, waiting: 0 };
    this.#addresses.set(address, entry);
    return entry;
  }
}
