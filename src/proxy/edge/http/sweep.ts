import type { ListenerOwner } from '../../../kit/guarded-listeners.ts';

export interface SweepLimits {
  /** How long a client may take to send a head over HTTP/1.1. */
  readonly headersTimeoutMs: number;
  /** How long a connection without a request is kept. */
  readonly idleTimeoutMs: number;
  /** How long a client may read nothing while response data is waiting. */
  readonly sendTimeoutMs: number;
  /** How long a client may take to send a request including its body. 0: unlimited. */
  readonly requestTimeoutMs: number;
}

interface SweptClient extends ListenerOwner {
  check(nowMs: number, limits: SweepLimits): void;
}

const MOST_MS = 5000;
const LEAST_MS = 100;

/**
 * Checks all connections periodically for timeouts. So moving bytes costs nothing extra, while one timer each would
 * have to be re-armed at every byte.
 */
export function sweep(clients: () => Iterable<SweptClient>, limits: SweepLimits): NodeJS.Timeout {
  const shortest = Math.min(...Object.values(limits).filter((limit: number) => limit > 0));
  const check = (): void => {
    const nowMs = performance.now();
    for (const client of clients()) {
      try {
        client.check(nowMs, limits);
      } catch (error) {
        client.contain(error);
      }
    }
  };
  return setInterval(check, Math.max(LEAST_MS, Math.min(MOST_MS, shortest / 10))).unref();
}

/** Detects a peer that stopped reading, or reads less than `least` all the time. */
export class Stall {
  readonly #least: number;
  #taken = Number.NEGATIVE_INFINITY;
  #sinceMs = 0;

  constructor(least = 1) {
    this.#least = least;
  }

  /** How long the stall has lasted. `taken` is any number that changes when bytes move. */
  lasts(isWaiting: boolean, taken: number, nowMs: number): number {
    if (!isWaiting || Math.abs(taken - this.#taken) >= this.#least) {
      this.#taken = taken;
      this.#sinceMs = nowMs;
    }
    return nowMs - this.#sinceMs;
  }
}

export interface HttpLimits {
  readonly maxHeaderBytes: number;
  readonly maxHeaderCount: number;
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /** How long a client may read nothing while response data is waiting. */
  readonly sendTimeoutMs: number;
  readonly maxConcurrentStreams: number;
}
