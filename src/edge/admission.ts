/** How much one process takes on at once. 0: no limit. */
export interface AdmissionLimits {
  /** Requests whose answer has not begun. */
  readonly maxRequests: number;
  /** Answers under way, and WebSockets. */
  readonly maxStreams: number;
}

export type AdmissionLimit = 'requests' | 'streams';

/**
 * Bounds what one process works on, so that a flood costs those who flood and not the API, the agents' heartbeats and the
 * memory (50,000 requests at once took 993 MiB, and an API read 5 s). Requests and streams count apart: a thousand idle
 * WebSockets leave the requests their room.
 */
export class Admission {
  readonly #limits: AdmissionLimits;
  #requests = 0;
  #streams = 0;

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
  }

  get requests(): number {
    return this.#requests;
  }

  get streams(): number {
    return this.#streams;
  }

  /** The limit that keeps another request out; null: it may come in. */
  exceeded(): AdmissionLimit | null {
    const { maxRequests, maxStreams } = this.#limits;
    if (maxRequests > 0 && this.#requests >= maxRequests) return 'requests';
    return maxStreams > 0 && this.#streams >= maxStreams ? 'streams' : null;
  }

  begin(): void {
    this.#requests += 1;
  }

  /** The answer of a request begins. */
  answer(): void {
    this.#requests -= 1;
    this.#streams += 1;
  }

  end(isAnswering: boolean): void {
    if (isAnswering) this.#streams -= 1;
    else this.#requests -= 1;
  }
}
