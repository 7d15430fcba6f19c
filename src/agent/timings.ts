import { LIVENESS_TIMINGS, type LivenessTimings } from '../tunnel/liveness.ts';

export interface AgentTimings {
  /** TCP and TLS together. */
  readonly connectTimeoutMs: number;
  /** From the connection to the server's `welcome`. */
  readonly welcomeTimeoutMs: number;
  /** From a `bind`, or from the last answer to one, to the next answer. */
  readonly bindTimeoutMs: number;
  /** Tries are spread evenly over 0 to this, doubled with every one that fails. */
  readonly backoffBaseMs: number;
  readonly backoffMaxMs: number;
  /** A connection that lived so long was a good one: the next loss counts from the beginning. */
  readonly stableAfterMs: number;
  /** Offline for so long: everything under way is dropped and begun anew. */
  readonly watchdogMs: number;
  /** How long `close()` waits for requests under way. */
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
  watchdogMs: 60_000,
  closeTimeoutMs: 10_000,
  liveness: LIVENESS_TIMINGS,
};
