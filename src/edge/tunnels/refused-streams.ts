/** A node answers a refusal at once. Silence means that it took the stream. */
const ANSWER_MS = 50;
const NEXT_TRY_MS = 100;
/** A refusal says nothing about streams that come later. */
const FORGOTTEN_MS = 2_000;
const NEVER = Number.NEGATIVE_INFINITY;

/**
 * All nodes with the agent of a tunnel refused a stream: none of them may serve it at the moment. *Open* → *closed* by a
 * refusal → after a while one visitor *tries* → *closed* again, or *open* when no refusal follows.
 */
export class RefusedStreams {
  readonly #monotonicMs: () => number;
  #refusedAtMs = NEVER;
  #triedAtMs = NEVER;

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
  }

  get isClosed(): boolean {
    return this.#monotonicMs() - this.#refusedAtMs < FORGOTTEN_MS;
  }

  refused(): void {
    this.#refusedAtMs = this.#monotonicMs();
  }

  /** Whether the caller may send a stream now. */
  mayTry(): boolean {
    if (!this.isClosed) return true;
    const nowMs = this.#monotonicMs();
    if (this.#triedAtMs > this.#refusedAtMs) {
      if (nowMs - this.#triedAtMs < ANSWER_MS) return false;
      this.#refusedAtMs = NEVER;
      return true;
    }
    if (nowMs - this.#refusedAtMs < NEXT_TRY_MS) return false;
    this.#triedAtMs = nowMs;
    return true;
  }
}
