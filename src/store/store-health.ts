import { type ErrorCode, PosternError } from '../kit/errors.ts';

/**
 * `ok`; `degraded`: the store cannot be written or reached at present, and the configuration in memory is served;
 * `failed`: the store is damaged or gone, and a restart would fail.
 */
export type StoreState = 'ok' | 'degraded' | 'failed';

export interface StoreHealth {
  readonly state: StoreState;
  /** Why it is not `ok`. */
  readonly problem: PosternError | null;
}

export type StoreHealthListener = (health: StoreHealth) => void;

const FATAL: ReadonlySet<ErrorCode> = new Set(['ERR_POSTERN_STORE_CORRUPT', 'ERR_POSTERN_STORE_GONE']);

/**
 * The results of the last write and the last probe. A success clears only a problem of its own kind: reads can work
 * while writes do not. Damage stays until the process is restarted: other readable pages prove nothing about damaged
 * ones.
 */
export class StoreHealthMonitor {
  readonly #listeners = new Set<StoreHealthListener>();
  #write: PosternError | null;
  #probe: PosternError | null = null;
  #damage: PosternError | null = null;
  #reported: string | null = null;

  /** `write`: what keeps the store from writing from the start. */
  constructor(write: PosternError | null = null) {
    this.#write = write;
  }

  get health(): StoreHealth {
    const problem = this.#damage ?? this.#probe ?? this.#write;
    if (problem === null) return { state: 'ok', problem };
    return { state: FATAL.has(problem.code) ? 'failed' : 'degraded', problem };
  }

  /** Whether only a write can show that writes work again. */
  get needsWrite(): boolean {
    return this.#write !== null;
  }

  onChange(listener: StoreHealthListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async watchingWrite<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#watching(work, (problem) => {
      this.#write = problem;
    });
  }

  async watchingProbe<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#watching(work, (problem) => {
      this.#probe = problem;
    });
  }

  /** A read that finds damage tells about the store as a whole. */
  noteDamage(error: unknown): void {
    if (!(error instanceof PosternError) || error.code !== 'ERR_POSTERN_STORE_CORRUPT') return;
    this.#damage ??= error;
    this.#report();
  }

  async #watching<Result>(work: () => Promise<Result>, set: (problem: PosternError | null) => void): Promise<Result> {
    try {
      const result = await work();
      set(null);
      this.#report();
      return result;
    } catch (error) {
      // Any other error is a bug in a single request, and says nothing about the store.
      if (error instanceof PosternError) {
        set(error);
        this.noteDamage(error);
        this.#report();
      }
      throw error;
    }
  }

  #report(): void {
    const { health } = this;
    const text = health.problem === null ? null : health.problem.code;
    if (text === this.#reported) return;
    this.#reported = text;
    for (const listener of this.#listeners) listener(health);
  }
}
