import { rfc3339 } from '../lib/clock.ts';
import type { JsonObject, JsonValue } from '../lib/json.ts';

/** State of fetching one authority's list, in the store: processes take turns, and a restart continues. */
export interface FetchState {
  readonly url: string;
  readonly etag: string;
  readonly lastModified: string;
  /** Last successful request. */
  readonly fetchedAt: string | null;
  readonly error: string | null;
  readonly failures: number;
  readonly nextAtMs: number;
  /** A process is at it until then. */
  readonly claimedUntilMs: number;
}

/** Longer than a request can take: then another process may try. */
export const CLAIM_MS = 45_000;
const RETRY_MS = [10_000, 30_000, 60_000, 300_000, 900_000];
const MIN_INTERVAL_MS = 10_000;
const DAY_MS = 86_400_000;

function freshState(url: string): FetchState {
  return {
    url,
    etag: '',
    lastModified: '',
    fetchedAt: null,
    error: null,
    failures: 0,
    nextAtMs: 0,
    claimedUntilMs: 0,
  };
}

/** The state for this URL: that of another one does not count. */
export function stateFor(doc: JsonObject | undefined, url: string): FetchState {
  if (doc === undefined || doc['url'] !== url) return freshState(url);
  return {
    url,
    etag: textOf(doc['etag']) ?? '',
    lastModified: textOf(doc['last_modified']) ?? '',
    fetchedAt: textOf(doc['fetched_at']),
    error: textOf(doc['error']),
    failures: Number(doc['failures'] ?? 0),
    nextAtMs: Number(doc['next_at_ms'] ?? 0),
    claimedUntilMs: Number(doc['claimed_until_ms'] ?? 0),
  };
}

function textOf(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

export function stateDoc(state: FetchState): JsonObject {
  return {
    url: state.url,
    etag: state.etag,
    last_modified: state.lastModified,
    fetched_at: state.fetchedAt,
    error: state.error,
    failures: state.failures,
    next_at_ms: state.nextAtMs,
    claimed_until_ms: state.claimedUntilMs,
  };
}

export function isDue({ nextAtMs, claimedUntilMs }: FetchState, nowMs: number): boolean {
  // A time that is further away than any that is ever set: a clock was wrong, once.
  const isReached = (ms: number, longestMs: number): boolean => ms <= nowMs || ms > nowMs + longestMs;
  return isReached(nextAtMs, 2 * DAY_MS) && isReached(claimedUntilMs, 2 * CLAIM_MS);
}

/** The next request comes after the interval, or when half of the list's remaining time has passed. */
export function afterSuccess(
  state: FetchState,
  { nextUpdateMs, intervalMs, nowMs }: { nextUpdateMs: number; intervalMs: number; nowMs: number },
): FetchState {
  const halfMs = Math.max((nextUpdateMs - nowMs) / 2, MIN_INTERVAL_MS);
  return {
    ...state,
    fetchedAt: rfc3339(nowMs),
    error: null,
    failures: 0,
    nextAtMs: Math.round(nowMs + Math.min(intervalMs, halfMs)),
    claimedUntilMs: 0,
  };
}

/** `random` between 0 and 1 spreads the processes of a fleet by 20 %. */
export function afterFailure(state: FetchState, error: string, nowMs: number, random: number): FetchState {
  const pauseMs = RETRY_MS[Math.min(state.failures, RETRY_MS.length - 1)] as number;
  return {
    ...state,
    error,
    failures: state.failures + 1,
    nextAtMs: Math.round(nowMs + pauseMs * (0.8 + 0.4 * random)),
    claimedUntilMs: 0,
  };
}
