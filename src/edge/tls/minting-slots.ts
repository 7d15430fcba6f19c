/** Runs a few tasks at once, and queues a bounded number of others in order. */
export class MintingSlots {
  readonly #slots: number;
  readonly #maxWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(slots: number, maxWaiting: number) {
    this.#slots = slots;
    this.#maxWaiting = maxWaiting;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#running < this.#slots) this.#running += 1;
    else if (this.#waiting.length < this.#maxWaiting) await this.#turn();
    else throw new Error(`${this.#slots} certificates are being made and ${this.#maxWaiting} wait: try again later`);
    try {
      return await task();
    } finally {
      // The slot passes to the next waiter, so no new task can take it.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }
}
