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
