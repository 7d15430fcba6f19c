/** The result of work that many ask for: calls during the work wait for it, and calls shortly after get the same. */
export class SharedResult<Result> {
  readonly #work: () => Promise<Result>;
  readonly #keptMs: number;
  readonly #nowMs: () => number;
  #latest: Promise<Result> | null = null;
  /** Infinite while the work runs. */
  #validUntilMs = 0;

  constructor(work: () => Promise<Result>, keptMs: number, nowMs: () => number = () => performance.now()) {
    this.#work = work;
    this.#keptMs = keptMs;
    this.#nowMs = nowMs;
  }

  get(): Promise<Result> {
    if (this.#latest === null || this.#nowMs() >= this.#validUntilMs) {
      this.#validUntilMs = Number.POSITIVE_INFINITY;
      this.#latest = this.#run();
    }
    return this.#latest;
  }

  async #run(): Promise<Result> {
    let keptMs = 0;
    try {
      const result = await this.#work();
      keptMs = this.#keptMs;
      return result;
    } finally {
      // A failure is not kept: the next call tries again.
      this.#validUntilMs = this.#nowMs() + keptMs;
    }
  }
}
