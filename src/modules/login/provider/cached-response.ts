import type { Clock } from '../../../lib/clock.ts';

export interface CachedResponseOptions<Answer> {
  load(): Promise<Answer>;
  readonly clock: Clock;
  /** From this age on it is reloaded in the background while the old one is used. */
  readonly refreshAfterMs: number;
  /** From this age on the old one is no longer valid. */
  readonly validForMs: number;
  /** Minimum time between attempts after a failure, and between requested reloads. */
  readonly floorMs: number;
  /** Minimum time between requested reloads, where it differs. */
  readonly reloadFloorMs?: number;
}

/**
 * A cached response of the provider.
 *
 * States: none (load and wait) → kept (return at once) → old (return at once, load in the background) → spent (load and
 * wait). A failed load changes only the time of the next attempt: until then waiting callers get the same failure.
 */
export class CachedResponse<Answer> {
  readonly #options: CachedResponseOptions<Answer>;
  #kept: { readonly answer: Answer; readonly atMs: number } | null = null;
  #failed: { readonly error: unknown; readonly atMs: number } | null = null;
  #loading: Promise<Answer> | null = null;
  #askedForMs: number | null = null;

  constructor(options: CachedResponseOptions<Answer>) {
    this.#options = options;
  }

  async get(): Promise<Answer> {
    const kept = this.#kept;
    if (kept === null || !this.#isWithin(kept.atMs, this.#options.validForMs)) return this.#load();
    if (!this.#isWithin(kept.atMs, this.#options.refreshAfterMs)) this.#load().catch(ignore);
    return kept.answer;
  }

  /** A newer response than the one that did not work, or null when it was loaded too recently. */
  async getNewer(): Promise<Answer | null> {
    if (this.#loading !== null) return this.#loading;
    const { floorMs, reloadFloorMs = floorMs } = this.#options;
    if (this.#askedForMs !== null && this.#isWithin(this.#askedForMs, reloadFloorMs)) return null;
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

  /** A clock that was set back must not extend any duration. */
  #isWithin(sinceMs: number, durationMs: number): boolean {
    const elapsedMs = this.#options.clock.nowMs() - sinceMs;
    return elapsedMs >= 0 && elapsedMs < durationMs;
  }
}

function ignore(): void {}
