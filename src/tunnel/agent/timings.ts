import { LIVENESS_TIMINGS, type LivenessTimings } from '../protocol/liveness.ts';

export interface AgentTimings {
  /** For TCP and TLS together. */
  readonly connectTimeoutMs: number;
  /** From connecting to the server's `welcome`. */
  readonly welcomeTimeoutMs: number;
  /** From a `bind`, or from the last response to one, to the next response. */
  readonly bindTimeoutMs: number;
  /** Delays are spread evenly over 0 to this value, which doubles with every failure. */
  readonly backoffBaseMs: number;
  readonly backoffMaxMs: number;
  /** A connection that lasted this long resets the backoff. */
  readonly stableAfterMs: number;
  /** The same when the server announces that it drains, as at a restart: it is well, and another process waits. */
  readonly stableBeforeDrainMs: number;
  /** While connections that were opened for many requests are hardly used, one closes each time this has passed. */
  readonly shrinkAfterMs: number;
  /** Before a connection moves to another node, spread over 0 to this value, which doubles with every attempt. */
  readonly moveDelayMs: number;
  /** After this long offline, everything in progress is dropped and started over. */
  readonly watchdogMs: number;
  /** How long `close()` waits for requests in progress. */
  readonly closeTimeoutMs: number;
  readonly liveness: LivenessTimings;
}

export const DEFAULT_TIMINGS: AgentTimings = {
  connectTimeoutMs: 10_000,
  welcomeTimeoutMs: 15_000,
  bindTimeoutMs: 30_000,
  backoffBaseMs: 500,
  backoffMaxMs: 30_000,
  stableAfterMs: 5_000,
  stableBeforeDrainMs: 1_000,
  shrinkAfterMs: 60_000,
  moveDelayMs: 3_000,
  watchdogMs: 60_000,
  closeTimeoutMs: 10_000,
  liveness: LIVENESS_TIMINGS,
};

/**
 * The first retry after a loss comes soon, but spread out: all agents of a restarted server must not return at the same
 * instant.
 */
const QUICK_SHARE = 0.2;

/** Retry delays with full jitter, so that thousands of agents that lost the same server do not retry in waves. */
export class Backoff {
  readonly #baseMs: number;
  readonly #maxMs: number;
  #tries = 0;

  constructor(baseMs: number, maxMs: number) {
    this.#baseMs = baseMs;
    this.#maxMs = maxMs;
  }

  reset(): void {
    this.#tries = 0;
  }

  nextMs(): number {
    const widestMs =
      this.#tries === 0 ? this.#baseMs * QUICK_SHARE : Math.min(this.#maxMs, this.#baseMs * 2 ** (this.#tries - 1));
    this.#tries = Math.min(this.#tries + 1, 30);
    return Math.round(Math.random() * widestMs);
  }
}
