const MINUTE_MS = 60_000;

/** A token bucket with a capacity of one minute. A limit of 0 means none. */
export class TokenBucket {
  readonly #perMinute: number;
  #tokens: number;
  #atMs = 0;

  constructor(perMinute: number) {
    this.#perMinute = perMinute;
    this.#tokens = perMinute;
  }

  /** Wait until a token is available and `keptShare` of the bucket, a number below 1, is left for others. */
  waitMs(nowMs: number, keptShare = 0): number {
    if (this.#perMinute === 0) return 0;
    // A clock that was set back neither adds nor removes tokens.
    const elapsedMs = Math.max(0, nowMs - this.#atMs);
    this.#tokens = Math.min(this.#perMinute, this.#tokens + (elapsedMs / MINUTE_MS) * this.#perMinute);
    this.#atMs = nowMs;
    const missing = Math.floor(this.#perMinute * keptShare) + 1 - this.#tokens;
    return missing <= 0 ? 0 : (missing / this.#perMinute) * MINUTE_MS;
  }

  take(): void {
    if (this.#perMinute > 0) this.#tokens -= 1;
  }

  giveBack(): void {
    this.#tokens = Math.min(this.#perMinute, this.#tokens + 1);
  }
}
