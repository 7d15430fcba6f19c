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
 * A circuit breaker for a tunnel. All nodes with its agent refused a stream: none of them may serve it at the moment.
 * *Closed* lets every stream through → *open* by a refusal → after a while one visitor *tries* → *open* again, or
 * *closed* when no refusal follows.
 */
export class TunnelCircuitBreaker {
  readonly #times: Times;
  #state: 'closed' | 'open' | 'trying' = 'closed';
  #refusedAtMs = 0;

  constructor(times = SYSTEM) {
    this.#times = times;
  }

  get isOpen(): boolean {
    return this.#state !== 'closed' && this.#times.monotonicMs() - this.#refusedAtMs < FORGOTTEN_MS;
  }

  refused(): void {
    this.#state = 'open';
    this.#refusedAtMs = this.#times.monotonicMs();
  }

  /** Whether the caller may send a stream now. */
  mayTry(): boolean {
    if (!this.isOpen) this.#state = 'closed';
    if (this.#state !== 'open') return this.#state === 'closed';
    if (this.#times.monotonicMs() - this.#refusedAtMs < NEXT_TRY_MS) return false;
    this.#state = 'trying';
    const refusedAtMs = this.#refusedAtMs;
    this.#times.afterReading(ANSWER_MS, () => {
      if (this.#state === 'trying' && this.#refusedAtMs === refusedAtMs) this.#state = 'closed';
    });
    return true;
  }
}
