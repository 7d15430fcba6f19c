import type { Clock } from '../../../lib/clock.ts';

export interface KeptAnswerOptions<Answer> {
  load(): Promise<Answer>;
  readonly clock: Clock;
  /** From this age on it is loaded anew in the background, while the old one goes on. */
  readonly refreshAfterMs: number;
  /** From this age on the old one is no longer good. */
  readonly goodForMs: number;
  /** Time between tries after a failure, and between reloads that somebody asked for. */
  readonly floorMs: number;
}

/**
 * Something of the provider's that is asked for once and kept.
 *
 * States: none (load and wait) → kept (answer at once) → old (answer at once, load in the background) → spent (load and wait).
 * A failed load changes nothing but the time of the next try: until then those who have to wait get the same failure.
 */
export class KeptAnswer<Answer> {
  readonly #options: KeptAnswerOptions<Answer>;
  #kept: { readonly answer: Answer; readonly atMs: number } | null = null;
  #failed: { readonly error: unknown; readonly atMs: number } | null = null;
  #loading: Promise<Answer> | null = null;
  #askedForMs: number | null = null;

  constructor(options: KeptAnswerOptions<Answer>) {
    this.#options = options;
  }

  async get(): Promise<Answer> {
    const kept = this.#kept;
    if (kept === null || !this.#isWithin(kept.atMs, this.#options.goodForMs)) return this.#load();
    if (!this.#isWithin(kept.atMs, this.#options.refreshAfterMs)) this.#load().catch(ignore);
    return kept.answer;
  }

  /** A newer answer than the one that did not serve, or null when it was asked for too recently. */
  async getNewer(): Promise<Answer | null> {
    if (this.#loading !== null) return this.#loading;
    if (this.#askedForMs !== null && this.#isWithin(this.#askedForMs, this.#options.floorMs)) return null;
    this.#askedForMs = this.#options.clock.nowMs();
    return this.#load();
  }

  #load(): Promise<Answer> {
    if (this.#loading !== null) return this.#loading;
    if (this.#failed !== null && this.#isWithin(this.#failed.atMs, this.#options.floorMs)) {
      return Promise.reject(this.#failed.error);
    }
    this.#loading = this.#options
      .load()
      .then(
        (answer) => {
          this.#kept = { answer, atMs: this.#options.clock.nowMs() };
          this.#failed = null;
          return answer;
        },
        (error: unknown) => {
          this.#failed = { error, atMs: this.#options.clock.nowMs() };
          throw error;
        },
      )
      .finally(() => {
        this.#loading = null;
      });
    return this.#loading;
  }

  /** A clock that was set back must not make anything last longer. */
  #isWithin(sinceMs: number, durationMs: number): boolean {
    const elapsedMs = this.#options.clock.nowMs() - sinceMs;
    return elapsedMs >= 0 && elapsedMs < durationMs;
  }
}

function ignore(): void {}
