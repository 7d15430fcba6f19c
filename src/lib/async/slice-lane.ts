/** Long work shares the event loop with traffic: it continues in a later turn after this time. */
const SLICE_MS = 5;

/** How much of the event loop long work may take. */
export interface SliceBudget {
  readonly sliceMs: number;
  nowMs(): number;
  /** Yields to everything else. */
  pause(): Promise<void>;
}

/**
 * Tasks that take turns: in each turn of the event loop, one of them runs for a slice. Lanes do not wait for each other,
 * so unrelated work has its own.
 */
export class SliceLane implements SliceBudget {
  readonly sliceMs = SLICE_MS;
  readonly #waiting: (() => void)[] = [];

  nowMs(): number {
    return performance.now();
  }

  /** Resolves in a later turn, in which no other task of the lane runs. */
  pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(this.#resumeOne);
    });
  }

  readonly #resumeOne = (): void => {
    const resume = this.#waiting.shift();
    if (this.#waiting.length > 0) setImmediate(this.#resumeOne);
    resume?.();
  };
}

/** Measures how long the current turn has worked, and hands the event loop over. */
export class TimeSlice {
  readonly #budget: SliceBudget;
  #endsAtMs: number;

  constructor(budget: SliceBudget) {
    this.#budget = budget;
    this.#endsAtMs = budget.nowMs() + budget.sliceMs;
  }

  get isOver(): boolean {
    return this.#budget.nowMs() >= this.#endsAtMs;
  }

  /** Resolves in a later turn, with a new slice. */
  async next(): Promise<void> {
    await this.#budget.pause();
    this.#endsAtMs = this.#budget.nowMs() + this.#budget.sliceMs;
  }
}
