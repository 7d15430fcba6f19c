/** A node refuses at once. Silence means that it took the stream. */
const ANSWER_MS = 50;
const NEXT_TRY_MS = 100;
/** A refusal says nothing about streams that come later. */
const FORGOTTEN_MS = 2_000;

interface Times {
  readonly monotonicMs: () => number;
  /** Calls it when that time is over, and everything that had arrived by then has been read. */
  readonly afterReading: (ms: number, task: () => void) => void;
}

const SYSTEM: Times = {
  monotonicMs: () => performance.now(),
  // The first immediate follows the reading of what arrived while the process stood still, the second its handling.
  afterReading: (ms, task) => void setTimeout(() => setImmediate(() => setImmediate(task)), ms).unref(),
};

/**
 * All nodes with the agent of a tunnel refused a stream: none of them may serve it at the moment. *Open* → *closed* by a
 * refusal → after a while one visitor *tries* → *closed* again, or *open* when no refusal follows.
 */
export class RefusedStreams {
  readonly #times: Times;
  #state: 'open' | 'closed' | 'trying' = 'open';
  #refusedAtMs = 0;

  constructor(times = SYSTEM) {
    this.#times = times;
  }

  get isClosed(): boolean {
    return this.#state !== 'open' && this.#times.monotonicMs() - this.#refusedAtMs < FORGOTTEN_MS;
  }

  refused(): void {
    this.#state = 'closed';
    this.#refusedAtMs = this.#times.monotonicMs();
  }

  /** Whether the caller may send a stream now. */
  mayTry(): boolean {
    if (!this.isClosed) this.#state = 'open';
    if (this.#state !== 'closed') return this.#state === 'open';
    if (this.#times.monotonicMs() - this.#refusedAtMs < NEXT_TRY_MS) return false;
    this.#state = 'trying';
    const refusedAtMs = this.#refusedAtMs;
    this.#times.afterReading(ANSWER_MS, () => {
      if (this.#state === 'trying' && this.#refusedAtMs === refusedAtMs) this.#state = 'open';
    });
    return true;
  }
}
