/**
 * The first retry after a loss comes soon, but spread out: all agents of a restarted server must not return at the same
 * instant.
 */
const QUICK_SHARE = 0.2;

/** Retry delays with full jitter, so that thousands of agents that lost the same server do not retry in waves. */
export class Backoff {
  readonly #baseMs: number;
  readonly #maxMs: number;
  #tries = 0;

  constructor(baseMs: number, maxMs: number) {
    this.#baseMs = baseMs;
    this.#maxMs = maxMs;
  }

  reset(): void {
    this.#tries = 0;
  }

  nextMs(): number {
    const widestMs =
      this.#tries === 0 ? this.#baseMs * QUICK_SHARE : Math.min(this.#maxMs, this.#baseMs * 2 ** (this.#tries - 1));
    this.#tries = Math.min(this.#tries + 1, 30);
    return Math.round(Math.random() * widestMs);
  }
}
