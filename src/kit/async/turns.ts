import { Rotation } from './rotation.ts';

/**
 * Runs a bounded number of tasks at once. The others wait for their turn: those of several owners in rotation, and
 * those without an owner in the order in which they came.
 */
export class Turns {
  readonly #max: number;
  readonly #maxWaiting: number;
  readonly #waiting = new Rotation<() => void>();
  #running = 0;

  constructor(max: number, maxWaiting = Number.POSITIVE_INFINITY) {
    this.#max = max;
    this.#maxWaiting = maxWaiting;
  }

  /** As many tasks wait as may: the caller rejects another one. */
  get isFull(): boolean {
    return this.#running >= this.#max && this.#waiting.size >= this.#maxWaiting;
  }

  async run<Result>(task: () => Promise<Result>, owner?: string): Promise<Result> {
    if (this.#running >= this.#max) await new Promise<void>((resolve) => this.#waiting.add(resolve, owner));
    else this.#running += 1;
    try {
      return await task();
    } finally {
      // The turn passes to the next task, so no new one can take it.
      const next = this.#waiting.take(owner);
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}

/** One holder at a time per key. Waiters are served in order: a late one cannot undo what a newer one did. */
export class KeyedMutex {
  readonly #tails = new Map<string, Promise<void>>();

  async run<Result>(key: string, task: () => Promise<Result>): Promise<Result> {
    const before = this.#tails.get(key);
    const turn = Promise.withResolvers<void>();
    this.#tails.set(key, turn.promise);
    try {
      await before;
      return await task();
    } finally {
      turn.resolve();
      if (this.#tails.get(key) === turn.promise) this.#tails.delete(key);
    }
  }

  /** Resolves when the tasks that were given so far have ended. */
  async settled(key: string): Promise<void> {
    await this.#tails.get(key);
  }
}

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
