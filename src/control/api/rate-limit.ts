import type { Clock } from '../../kit/clock.ts';
import { apiErrors } from './errors.ts';

interface Bucket {
  tokens: number;
  atMs: number;
}

/** A token bucket per API key, with a burst of one second's worth of requests. 0 = off. */
export class RateLimit {
  readonly #buckets = new Map<string, Bucket>();
  readonly #perSecond: number;
  readonly #clock: Clock;

  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#clock = clock;
  }

  take(apiKeyId: string): void {
    if (this.#perSecond === 0) return;
    const nowMs = this.#clock.nowMs();
    const bucket = this.#buckets.get(apiKeyId) ?? { tokens: this.#perSecond, atMs: nowMs };
    bucket.tokens = Math.min(this.#perSecond, bucket.tokens + ((nowMs - bucket.atMs) / 1000) * this.#perSecond);
    bucket.atMs = nowMs;
    this.#buckets.set(apiKeyId, bucket);
    if (bucket.tokens < 1) {
      const seconds = Math.max(1, Math.ceil((1 - bucket.tokens) / this.#perSecond));
      throw apiErrors.create(
        'ERR_POSTERN_RATE_LIMITED',
        `more than ${this.#perSecond} requests per second with this API key: wait ${seconds} s`,
        {
          headers: { 'retry-after': String(seconds) },
        },
      );
    }
    bucket.tokens -= 1;
  }
}
