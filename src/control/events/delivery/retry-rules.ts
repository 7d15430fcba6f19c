import type { Clock } from '../../../kit/clock.ts';
import type { JsonObject } from '../../../kit/json.ts';
import type { DeliveryStore, LaneHealth, LaneKey } from '../../../store/store.ts';
import type { DestinationSender, SendOutcome, SendVerdict } from '../destinations/destination-kind.ts';

export interface RetryPolicy {
  /** How long an event is retried at a destination that does not accept it. */
  readonly retryWindowMs: number;
  /** How long a destination may fail before it is suspended. */
  readonly suspendAfterMs: number;
  /** 0 up to 1. */
  random(): number;
}

interface Tried {
  readonly outcome: SendOutcome;
  /** When the event was first attempted: now, or earlier. */
  readonly firstTriedMs: number;
  /** Refusals before this attempt. */
  readonly refusals: number;
  readonly health: LaneHealth;
  readonly nowMs: number;
}

export interface Ruling {
  readonly state: 'pending' | 'delivered' | 'dead';
  readonly refusals: number;
  readonly health: LaneHealth;
  /** 0: the lane continues at once. */
  readonly nextAttemptAtMs: number;
  readonly suspension: 'gone' | 'failing' | null;
}

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
/** Five attempts, at 0, 10 s, 1 min, 3 min and 10 min. */
const REFUSAL_WAITS_MS: readonly number[] = [10_000, 50_000, 120_000, 420_000];
const JITTER = 0.2;
/** Days without events are not days of failure: this many attempts must have failed too. */
const SUSPEND_AFTER_ATTEMPTS = 10;

/**
 * What an attempt means for the event and its lane.
 *
 * - delivered: the lane continues.
 * - wait (no connection, timeout, 408, 429, 5xx): the lane waits 1, 2, 4 … s up to an hour, or as long as the
 *   destination asked, and retries the same event for about a day. Then that event is dead, and the next one is tried
 *   after the same wait.
 * - refused (any other response): the lane also waits, because it keeps its order, but after five attempts in about ten
 *   minutes the event is dead and the lane continues.
 * - gone (410), or failing for days: the destination is suspended and the event stays.
 */
export function rule({ outcome, firstTriedMs, refusals, health, nowMs }: Tried, policy: RetryPolicy): Ruling {
  if (outcome.verdict === 'delivered') {
    return {
      state: 'delivered',
      refusals,
      health: { failures: 0, failingCount: 0, failingSinceMs: null },
      nextAttemptAtMs: 0,
      suspension: null,
    };
  }
  const isRefusal = outcome.verdict === 'refused';
  const failures = isRefusal ? 0 : health.failures + 1;
  const failingCount = health.failingCount + 1;
  const failingSinceMs = health.failingSinceMs ?? nowMs;
  const after: LaneHealth = { failures, failingCount, failingSinceMs };
  const wait = (ms: number): number => nowMs + Math.round(ms * (1 - JITTER + 2 * JITTER * policy.random()));

  if (outcome.verdict === 'gone') {
    return { state: 'pending', refusals, health: after, nextAttemptAtMs: wait(HOUR_MS), suspension: 'gone' };
  }
  const isFailingForDays = nowMs - failingSinceMs >= policy.suspendAfterMs && failingCount >= SUSPEND_AFTER_ATTEMPTS;
  const suspension = isFailingForDays ? 'failing' : null;
  if (isRefusal) {
    const waitMs = REFUSAL_WAITS_MS[refusals];
    const isDead = waitMs === undefined;
    return {
      state: isDead ? 'dead' : 'pending',
      refusals: refusals + 1,
      health: after,
      nextAttemptAtMs: isDead ? 0 : wait(waitMs),
      suspension,
    };
  }
  // A resumed lane gets a new day: attempts from before the pause do not count.
  const hasHadItsDay = nowMs - Math.max(firstTriedMs, failingSinceMs) >= policy.retryWindowMs;
  const backoffMs = Math.min(SECOND_MS * 2 ** (failures - 1), HOUR_MS);
  const askedMs = Math.min(outcome.retryAfterMs ?? 0, policy.retryWindowMs);
  return {
    state: hasHadItsDay && suspension === null ? 'dead' : 'pending',
    refusals,
    health: after,
    nextAttemptAtMs: Math.max(wait(backoffMs), nowMs + askedMs),
    suspension,
  };
}

export interface DeliveryLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** The current target of a lane. */
export type LaneTarget =
  | { readonly state: 'open'; readonly kind: string; readonly config: JsonObject }
  /** Paused or suspended. */
  | { readonly state: 'held' }
  /** The subscription or the destination is gone, or they are no longer linked. */
  | { readonly state: 'closed' };

export interface DeliveryPorts {
  readonly store: DeliveryStore;
  readonly clock: Clock;
  readonly log: DeliveryLog;
  readonly policy: RetryPolicy;
  readonly senders: ReadonlyMap<string, DestinationSender>;
  targetOf(lane: LaneKey): LaneTarget;
  /** Sets the destination's status; deliveries wait from then on. */
  suspend(destinationId: string): Promise<void>;
  attempted(kind: string, verdict: SendVerdict, seconds: number): void;
  suspended(reason: 'gone' | 'failing'): void;
}
