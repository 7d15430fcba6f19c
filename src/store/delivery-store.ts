import type { JsonObject } from '../lib/json.ts';
import type { PageQuery } from './store.ts';

export interface OutboxEvent {
  readonly id: string;
  readonly type: string;
  readonly createdAtMs: number;
  /** The envelope as it will be delivered, secrets masked. */
  readonly payload: JsonObject;
  /**
   * Whoever made it knows of no subscription that wants it, but may not have heard of all: kept if one with a destination is there
   * when it is written. The store does not give it back.
   */
  readonly isUncertain?: boolean;
}

export interface EventStore {
  list(query: PageQuery): Promise<readonly OutboxEvent[]>;
  get(id: string): Promise<OutboxEvent | null>;
  count(): Promise<number>;
  /**
   * Events that no change of configuration causes, such as those of traffic: they take no revision. Only those that some
   * subscription wants are kept; answers how many.
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
  /** Of a pending one, when its lane goes on at the earliest; null when the lane is held or the delivery has ended. */
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
  /** Called for each match that is wanted. */
  readonly newId: () => string;
  readonly nowMs: number;
  /** Asked with the type of each match. Absent: all. */
  readonly isWanted?: (type: string) => boolean;
}

/** A lane: what one subscription sends to one destination, in order. */
export interface LaneKey {
  readonly subscriptionId: string;
  readonly destinationId: string;
}

/** How a lane has fared. All of it moves with `settle`. */
export interface LaneHealth {
  /** Failures in a row that made the lane wait; 0 once the receiver answered anything. */
  readonly failures: number;
  /** Attempts without success since the last success, and when the first of them was. */
  readonly failingCount: number;
  readonly failingSinceMs: number | null;
}

export interface PendingDelivery {
  readonly id: string;
  readonly event: OutboxEvent;
  readonly attempts: readonly DeliveryAttempt[];
  /** How often the receiver has refused this very event. */
  readonly refusals: number;
  readonly createdAtMs: number;
}

export interface ClaimedLane extends LaneKey, LaneHealth {
  /** Moves with every claim: what an earlier holder still writes is turned away by it. */
  readonly fence: number;
  /** Moves when somebody wants the lane tried at once; a settlement that does not know of it cannot make the lane wait. */
  readonly wakes: number;
  /** The oldest pending ones, in order. */
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
  /** When the next lane is due, as far as is known now; null when none waits. */
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
  /** The lane is tried again at this time; 0: at once. */
  readonly nextAttemptAtMs: number;
  /** The destination seems to take nothing at present: if its record says so too, the lane is held. */
  readonly isHeld: boolean;
  /** Null gives the lane back. */
  readonly untilMs: number | null;
  readonly maxDeliveries: number;
}

/** What has become of everything that was ever put into a lane: enqueued = pending + delivered + dead + cancelled + pruned. */
export interface LaneLedger extends LaneKey {
  readonly enqueued: number;
  readonly pending: number;
  readonly delivered: number;
  readonly dead: number;
  readonly cancelled: number;
  /** Taken away by age while still pending. Rows of the others go by age too, and stay counted where they ended. */
  readonly pruned: number;
  readonly oldestPendingMs: number | null;
  readonly isHeld: boolean;
  readonly failingSinceMs: number | null;
}

export interface DeliveryRetention {
  readonly nowMs: number;
  /** Delivered and cancelled ones that ended before this go. */
  readonly endedBeforeMs: number;
  readonly deadBeforeMs: number;
  /** Pending ones that were enqueued before this go, undelivered, and are counted as pruned. */
  readonly pendingBeforeMs: number;
}

/**
 * Deliveries: an event on its way through a lane. They are made in the transaction that writes the event, for the
 * subscriptions as they stand there, so none is lost and none is made twice. Deleting a subscription, or taking a destination
 * out of it, cancels what is pending in the lane.
 */
export interface DeliveryStore {
  /** As they are given, with their events; the ledger counts them. For tests, which want deliveries in every state. */
  put(deliveries: readonly Delivery[]): Promise<void>;
  get(id: string): Promise<Delivery | null>;
  list(filter: DeliveryFilter, query: PageQuery): Promise<readonly Delivery[]>;
  /**
   * Enqueues the event anew, at the end of its lane, under `newId`. Null when there is no such delivery, `closed` when its
   * subscription is gone or no longer sends there.
   */
  replay(id: string, newId: string, nowMs: number): Promise<Delivery | 'closed' | null>;
  /** The same for all that match and whose lane is open, in their order; answers how many. */
  replayMatching(filter: DeliveryFilter, options: ReplayOptions): Promise<number>;
  /** Types of the events that wait for a destination. */
  pendingTypes(destinationId: string): Promise<readonly string[]>;
  /** This process has enqueued something. */
  onEnqueued(listener: () => void): () => void;

  /** As of the store: claims that this process holds are void. */
  onReset(release: () => void): () => void;

  /** After a start: every lane that nobody holds is tried at once. With `isAlone`, what others held is void. */
  wakeLanes(nowMs: number, options: { readonly isAlone: boolean }): Promise<void>;
  /** Takes lanes that are due, the longest waiting first, each for one holder until `untilMs`. */
  claim(options: ClaimOptions): Promise<Claims>;
  /** Moves the end of those of these lanes that this owner holds, and answers which they are. */
  renew(
    owner: string,
    lanes: readonly LaneKey[],
    untilMs: number,
  ): Promise<readonly (LaneKey & { readonly fence: number })[]>;
  /**
   * Writes what came of a claim, and answers what comes next; nothing, when the lane has been given back: because it was asked
   * for, because there is nothing pending, or because it is held. Null when the claim is no longer the caller's: nothing is
   * written then.
   */
  settle(settlement: Settlement): Promise<readonly PendingDelivery[] | null>;
  ledger(): Promise<readonly LaneLedger[]>;
  /** In short transactions; answers how many deliveries went. */
  prune(retention: DeliveryRetention): Promise<number>;
}
