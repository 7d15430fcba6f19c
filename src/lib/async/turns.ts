/** Runs a bounded number of tasks at once. The others wait for their turn, in the order in which they came. */
export class Turns {
  readonly #max: number;
  readonly #maxWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(max: number, maxWaiting = Number.POSITIVE_INFINITY) {
    this.#max = max;
    this.#maxWaiting = maxWaiting;
  }

  /** As many tasks wait as may: the caller rejects another one. */
  get isFull(): boolean {
    return this.#running >= this.#max && this.#waiting.length >= this.#maxWaiting;
  }

  async run<Result>(task: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#max) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    try {
      return await task();
    } finally {
      // The turn passes to the next task, so no new one can take it.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
