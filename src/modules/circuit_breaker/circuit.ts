import type { BackendOutcome } from '../contract/prepared-module.ts';
import { type CircuitLimits, MAX_BUCKETS } from './circuit-breaker-config.ts';

const OPENED_AT = 0;
const TRIPPED_AT = 1;
const PROBE_AT = 2;
/** Number of the last probe. */
const PROBES = 3;
const HAS_PROBE = 4;
const LATEST = 5;
/** Number of the first probe since the circuit was tripped. */
const FIRST_PROBE = 6;
/** When it was last closed, or given another configuration. */
const SINCE = 7;
/** Who sent the last probe; 0: there was none since the circuit was tripped. */
const PROBE_BY = 8;
const FIRST_BUCKET = 9;
/** The bucket's part of time, the requests and the failures. */
const PER_BUCKET = 3;

/** How long a probe keeps others away: a visitor who sends slowly must not keep the circuit open. */
const PROBE_MS = 1_000;
/** For the client of the probe: one who asks often enough would send every probe, and could let none of them end. */
const OWN_PROBE_MS = 2_000;

/** Numbers that a circuit keeps. */
export const CIRCUIT_FIELDS = FIRST_BUCKET + MAX_BUCKETS * PER_BUCKET;

export type CircuitChange = 'opened' | 'closed';

/** What a request may do: pass, pass as the probe with this number, or come back after so many milliseconds. */
export type Admission = 'pass' | { readonly probe: number } | { readonly retryAfterMs: number };

/**
 * A circuit, in numbers that other threads may keep too: its owner lets one thread in at a time.
 *
 * | state | enters | requests | leaves |
 * |---|---|---|---|
 * | closed | at first | pass and are counted | when enough of enough requests in the window have failed: open |
 * | open | – | are refused | `trippedMs` after it was tripped: half-open |
 * | half-open | – | one is the probe, the others are refused | when a probe is served: closed, with an empty window; when one fails: open, for `trippedMs` again |
 *
 * Another probe follows one that has not ended within a second, from the same client after two, and each of them
 * decides. Requests that started before the circuit opened are no longer counted, also when it has closed again: they
 * met a backend that failed. Nor are probes from before it was tripped again. If the clock is set back, what was
 * counted later is forgotten, and an open circuit waits for `trippedMs` once more.
 */
export class Circuit {
  readonly #fields: Float64Array;
  readonly #limits: CircuitLimits;
  readonly #bucketMs: number;

  constructor(fields: Float64Array, limits: CircuitLimits) {
    this.#fields = fields;
    this.#limits = limits;
    this.#bucketMs = limits.windowMs / limits.buckets;
  }

  /** For an open one: what the next request of a client would get; null: of one who has sent no probe. */
  static next(
    fields: Float64Array,
    { trippedMs }: Pick<CircuitLimits, 'trippedMs'>,
    nowMs: number,
    client: number | null,
  ): 'probe' | number {
    const waitedMs = nowMs - at(fields, TRIPPED_AT);
    if (waitedMs < trippedMs) return Math.min(trippedMs, trippedMs - waitedMs);
    const probedMs = nowMs - at(fields, PROBE_AT);
    const othersMs = at(fields, HAS_PROBE) === 1 ? PROBE_MS : 0;
    const waitsMs = at(fields, PROBE_BY) === client ? OWN_PROBE_MS : othersMs;
    return probedMs >= 0 && probedMs < waitsMs ? 0 : 'probe';
  }

  static openedAtMs(fields: Float64Array): number {
    return at(fields, OPENED_AT);
  }

  /** Requests from before `sinceMs` do not count. */
  static clear(fields: Float64Array, sinceMs: number): void {
    fields.fill(0);
    fields[SINCE] = sinceMs;
  }

  /** Whether a request that started then says nothing about the time since the circuit was last closed. */
  isFromBefore(startedMs: number, nowMs: number): boolean {
    const fields = this.#fields;
    if (nowMs < at(fields, SINCE)) fields[SINCE] = nowMs;
    return startedMs < at(fields, SINCE);
  }

  /** A request of a client asks an open circuit. */
  admitWhileOpen(nowMs: number, client: number): Exclude<Admission, 'pass'> {
    const fields = this.#fields;
    if (nowMs < at(fields, TRIPPED_AT)) fields[TRIPPED_AT] = nowMs;
    const next = Circuit.next(fields, this.#limits, nowMs, client);
    if (next !== 'probe') return { retryAfterMs: next };
    fields[PROBE_AT] = nowMs;
    fields[PROBE_BY] = client;
    fields[HAS_PROBE] = 1;
    fields[PROBES] = at(fields, PROBES) + 1;
    return { probe: at(fields, PROBES) };
  }

  /** A request has ended while the circuit is closed. Returns whether it opens. */
  settleWhileClosed(outcome: BackendOutcome, nowMs: number): boolean {
    if (outcome === 'none') return false;
    const { requests, failures } = this.#count(outcome !== 'served', nowMs);
    const { volume, threshold } = this.#limits;
    if (failures === 0 || requests < volume || failures / requests < threshold) return false;
    const fields = this.#fields;
    fields[OPENED_AT] = nowMs;
    this.#trip(nowMs);
    return true;
  }

  /** The probe with this number has ended while the circuit is open. Returns whether it closes. */
  settleProbe(probe: number, outcome: BackendOutcome, nowMs: number): boolean {
    const fields = this.#fields;
    if (probe < at(fields, FIRST_PROBE)) return false;
    if (probe === at(fields, PROBES)) fields[HAS_PROBE] = 0;
    if (outcome === 'served') {
      fields.fill(0, FIRST_BUCKET);
      fields[SINCE] = nowMs;
      return true;
    }
    if (outcome !== 'none') this.#trip(nowMs);
    return false;
  }

  #trip(nowMs: number): void {
    const fields = this.#fields;
    fields[TRIPPED_AT] = nowMs;
    fields[HAS_PROBE] = 0;
    fields[PROBE_BY] = 0;
    fields[FIRST_PROBE] = at(fields, PROBES) + 1;
  }

  /** Counts a request, and returns those of the window. */
  #count(isFailure: boolean, nowMs: number): { readonly requests: number; readonly failures: number } {
    const fields = this.#fields;
    const { buckets } = this.#limits;
    const part = Math.floor(nowMs / this.#bucketMs);
    if (part < at(fields, LATEST)) this.#forgetAfter(part);
    fields[LATEST] = part;
    const own = FIRST_BUCKET + (part % buckets) * PER_BUCKET;
    if (at(fields, own) !== part) fields.set([part, 0, 0], own);
    fields[own + 1] = at(fields, own + 1) + 1;
    if (isFailure) fields[own + 2] = at(fields, own + 2) + 1;
    let requests = 0;
    let failures = 0;
    for (let bucket = 0; bucket < buckets; bucket += 1) {
      const start = FIRST_BUCKET + bucket * PER_BUCKET;
      // A past bucket must not count again if the clock is set back.
      if (at(fields, start) <= part - buckets) fields.fill(0, start, start + PER_BUCKET);
      requests += at(fields, start + 1);
      failures += at(fields, start + 2);
    }
    return { requests, failures };
  }

  #forgetAfter(part: number): void {
    const { buckets } = this.#limits;
    for (let bucket = 0; bucket < buckets; bucket += 1) {
      const start = FIRST_BUCKET + bucket * PER_BUCKET;
      if (at(this.#fields, start) > part) this.#fields.fill(0, start, start + PER_BUCKET);
    }
  }
}

function at(fields: Float64Array, index: number): number {
  return fields[index] ?? 0;
}
