import { reportBug } from '../../lib/bug-report.ts';

/** A node that contradicts other nodes all the time must not occupy the store. */
const MAX_WAITING = 1_000;
const RETRY_MS = 2_000;

/** Questions that only the store can answer, one at a time. A question that rejects is asked again later. */
export class OwnershipDisputes {
  readonly #waiting = new Map<string, () => Promise<void>>();
  #isAsking = false;
  #isClosed = false;

  ask(about: string, question: () => Promise<void>): void {
    if (this.#isClosed || (!this.#waiting.has(about) && this.#waiting.size >= MAX_WAITING)) return;
    this.#waiting.set(about, question);
    if (!this.#isAsking)
      this.#askAll().catch((error: unknown) => reportBug(error, { part: 'ownership disputes between nodes' }));
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting.clear();
  }

  async #askAll(): Promise<void> {
    this.#isAsking = true;
    for (const [about, question] of this.#waiting) {
      const isAnswered = await question().then(
        () => true,
        () => false,
      );
      if (isAnswered && this.#waiting.get(about) === question) this.#waiting.delete(about);
    }
    this.#isAsking = false;
    if (this.#waiting.size === 0 || this.#isClosed) return;
    // The store is away: earlier decisions count until the store answers.
    setTimeout(() => {
      const [next] = this.#waiting;
      if (next !== undefined) this.ask(...next);
    }, RETRY_MS).unref();
  }
}
