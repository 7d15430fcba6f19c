import type { JsonObject } from '../kit/json.ts';
import type { PageQuery } from './stored-record.ts';

export interface OutboxEvent {
  readonly id: string;
  readonly type: string;
  readonly createdAtMs: number;
  /** The envelope as it will be delivered, with secrets masked. */
  readonly payload: JsonObject;
  /**
   * The creator knows of no subscription that wants it, but its view may be stale: the event is kept if one with a
   * destination exists when it is written. The store does not return this field.
   */
  readonly isUncertain?: boolean;
}

export interface EventStore {
  list(query: PageQuery): Promise<readonly OutboxEvent[]>;
  get(id: string): Promise<OutboxEvent | null>;
  count(): Promise<number>;
  /**
   * Events without a configuration change, such as those of traffic: they take no revision. Only events that some
   * subscription wants are kept; returns how many.
   */
  record(events: readonly OutboxEvent[]): Promise<number>;
}

export type DeliveryState = 'pending' | 'delivered' | 'dead' | 'cancelled';

export interface DeliveryAttempt {
  readonly at: string;
  readonly status: number | null;
  readonly error: string | null;
  readonly duration_ms: number;
}

export interface Delivery {
  readonly id: string;
  readonly subscriptionId: string;
  readonly destinationId: string;
  readonly event: OutboxEvent;
  readonly state: DeliveryState;
  readonly attempts: readonly DeliveryAttempt[];
  readonly createdAtMs: number;
  /**
   * For a pending delivery, the earliest time of its lane's next attempt; null when the lane is held or the delivery
   * has ended.
   */
  readonly nextAttemptAtMs: number | null;
}

export interface DeliveryFilter {
  readonly subscriptionId?: string;
  readonly destinationId?: string;
  readonly state?: DeliveryState;
  readonly sinceMs?: number;
  readonly untilMs?: number;
}

export interface ReplayOptions {
  /** Called for each selected match. */
  readonly newId: () => string;
  readonly nowMs: number;
  /** Called with the type of each match. Absent: all. */
  readonly isWanted?: (type: string) => boolean;
}

/** A lane: the deliveries of one subscription to one destination, in order. */
export interface LaneKey {
  readonly subscriptionId: string;
  readonly destinationId: string;
}

/** Recent success of a lane. `settle` updates all of it. */
export interface LaneHealth {
  /** Consecutive failures that made the lane wait; 0 after any response of the receiver. */
  readonly failures: number;
  /** Attempts without success since the last success, and the time of the first of them. */
  readonly failingCount: number;
  readonly failingSinceMs: number | null;
}

export interface PendingDelivery {
  readonly id: string;
  readonly event: OutboxEvent;
  readonly attempts: readonly DeliveryAttempt[];
  /** How often the receiver has rejected this event. */
  readonly refusals: number;
  readonly createdAtMs: number;
}

export interface ClaimedLane extends LaneKey, LaneHealth {
  /** Increases with every claim: late writes of an earlier holder are rejected by it. */
  readonly fence: number;
  /**
   * Increases when somebody wants the lane tried immediately; a settlement that does not know of it cannot make the
   * lane wait.
   */
  readonly wakes: number;
  /** The oldest pending deliveries, in order. */
  readonly deliveries: readonly PendingDelivery[];
}

export interface ClaimOptions {
  readonly owner: string;
  readonly nowMs: number;
  readonly untilMs: number;
  readonly maxLanes: number;
  readonly maxDeliveries: number;
}

export interface Claims {
  readonly lanes: readonly ClaimedLane[];
  /** When the next lane is due, as far as known; null when none waits. */
  readonly nextDueMs: number | null;
}

export interface DeliveryOutcome {
  readonly id: string;
  readonly state: 'pending' | 'delivered' | 'dead';
  readonly attempts: readonly DeliveryAttempt[];
  readonly refusals: number;
}

export interface Settlement extends LaneKey, LaneHealth {
  readonly owner: string;
  readonly fence: number;
  readonly wakes: number;
  readonly nowMs: number;
  readonly outcomes: readonly DeliveryOutcome[];
  /** The time of the lane's next attempt; 0: immediately. */
  readonly nextAttemptAtMs: number;
  /** The destination seems to accept nothing at present: if its record agrees, the lane is held. */
  readonly isHeld: boolean;
  /** Null releases the lane. */
  readonly untilMs: number | null;
  readonly maxDeliveries: number;
}

/** What became of everything ever enqueued in a lane: enqueued = pending + delivered + dead + cancelled + pruned. */
export interface LaneLedger extends LaneKey {
  readonly enqueued: number;
  readonly pending: number;
  readonly delivered: number;
  readonly dead: number;
  readonly cancelled: number;
  /** Pruned by age while still pending. Rows of the other states are pruned too, but stay counted in their state. */
  readonly pruned: number;
  readonly oldestPendingMs: number | null;
  readonly isHeld: boolean;
  readonly failingSinceMs: number | null;
}

export interface DeliveryRetention {
  readonly nowMs: number;
  /** Delivered and cancelled deliveries that ended before this are pruned. */
  readonly endedBeforeMs: number;
  readonly deadBeforeMs: number;
  /** Pending deliveries enqueued before this are pruned, undelivered, and counted as pruned. */
  readonly pendingBeforeMs: number;
}

/**
 * Deliveries: an event on its way through a lane. They are created in the transaction that writes the event, for the
 * subscriptions as they are at that moment, so none is lost and none is duplicated. Deleting a subscription, or
 * removing a destination from it, cancels the lane's pending deliveries.
 */
export interface DeliveryStore {
  /** Stores them as given, with their events; the ledger counts them. For tests that need deliveries in every state. */
  put(deliveries: readonly Delivery[]): Promise<void>;
  get(id: string): Promise<Delivery | null>;
  list(filter: DeliveryFilter, query: PageQuery): Promise<readonly Delivery[]>;
  /**
   * Enqueues the event again, at the end of its lane, under `newId`. Null when there is no such delivery, `closed` when
   * its subscription is gone or no longer sends there.
   */
  replay(id: string, newId: string, nowMs: number): Promise<Delivery | 'closed' | null>;
  /** The same for all matches whose lane is open, in order; returns how many. */
  replayMatching(filter: DeliveryFilter, options: ReplayOptions): Promise<number>;
  /** Types of the events queued for a destination. */
  pendingTypes(destinationId: string): Promise<readonly string[]>;
  /** Called when this process has enqueued deliveries. */
  onEnqueued(listener: () => void): () => void;

  /** As in the store: claims that this process holds are void. */
  onReset(release: () => void): () => void;

  /** After a start: every unclaimed lane is tried immediately. With `isAlone`, the claims of others are void. */
  wakeLanes(nowMs: number, options: { readonly isAlone: boolean }): Promise<void>;
  /** Claims lanes that are due, longest waiting first, each for one holder until `untilMs`. */
  claim(options: ClaimOptions): Promise<Claims>;
  /** Extends those of these lanes that this owner holds, and returns them. */
  renew(
    owner: string,
    lanes: readonly LaneKey[],
    untilMs: number,
  ): Promise<readonly (LaneKey & { readonly fence: number })[]>;
  /**
   * Writes the outcomes of a claim, and returns the next deliveries. Empty when the lane was released: on request,
   * because nothing is pending, or because it is held. Null when the caller no longer holds the claim: then nothing is
   * written.
   */
  settle(settlement: Settlement): Promise<readonly PendingDelivery[] | null>;
  ledger(): Promise<readonly LaneLedger[]>;
  /** Runs in short transactions; returns how many deliveries were pruned. */
  prune(retention: DeliveryRetention): Promise<number>;
}
