import assert from 'node:assert/strict';
import type {
  ClaimedLane,
  DeliveryOutcome,
  LaneLedger,
  OutboxEvent,
  Settlement,
  Store,
} from '../../../src/store/store.ts';
import { committed, put, refersTo } from './store-under-test.ts';

export const FAR_MS = 9_000_000_000_000;
let eventCount = 0;

export function event(type = 'x.v0', createdAtMs = 100): OutboxEvent {
  eventCount += 1;
  return { id: `ev_${String(eventCount).padStart(9, '0')}`, type, createdAtMs, payload: { at: eventCount } };
}

export function destinationPut(id: string, status = 'active') {
  return put('event_destination', id, { doc: { status } });
}

export function subscriptionPut(id: string, types: readonly string[], destinationIds: readonly string[]) {
  return put('event_subscription', id, {
    doc: { sources: types.map((type) => ({ type })), destination_ids: destinationIds },
    references: destinationIds.map((to) => refersTo({ kind: 'event_destination', id: to }, 'destination_ids')),
  });
}

/** One lane, from `esb_1` to `ed_1`, for events of the type `x.v0`. */
export async function oneLane(store: Store): Promise<void> {
  await committed(store, { puts: [destinationPut('ed_1'), subscriptionPut('esb_1', ['x.v0'], ['ed_1'])] });
}

export async function claim(store: Store, nowMs: number, owner = 'me', maxDeliveries = 10): Promise<ClaimedLane[]> {
  const { lanes } = await store.deliveries.claim({ owner, nowMs, untilMs: nowMs + 10, maxLanes: 10, maxDeliveries });
  return [...lanes];
}

export async function claimOne(store: Store, nowMs: number, owner = 'me'): Promise<ClaimedLane> {
  const [lane, ...others] = await claim(store, nowMs, owner);
  assert.ok(lane !== undefined && others.length === 0, 'one lane is due');
  return lane;
}

export function settlement(lane: ClaimedLane, given: Partial<Settlement> = {}): Settlement {
  return {
    owner: 'me',
    subscriptionId: lane.subscriptionId,
    destinationId: lane.destinationId,
    fence: lane.fence,
    wakes: lane.wakes,
    nowMs: 500,
    outcomes: [],
    failures: 0,
    failingCount: 0,
    failingSinceMs: null,
    nextAttemptAtMs: 0,
    isHeld: false,
    untilMs: null,
    maxDeliveries: 10,
    ...given,
  };
}

export function outcome(id: string, state: DeliveryOutcome['state'] = 'delivered'): DeliveryOutcome {
  return { id, state, attempts: [{ at: 'now', status: 200, error: null, duration_ms: 1 }], refusals: 0 };
}

/** The ledger by lane, abbreviated, after checking that it balances and matches the rows. */
export async function ledger(store: Store): Promise<Record<string, string>> {
  const lanes = await store.deliveries.ledger();
  for (const lane of lanes) await assertBalanced(store, lane);
  const text = ({ enqueued, pending, delivered, dead, cancelled, pruned }: LaneLedger): string =>
    `${enqueued} = ${pending} pending + ${delivered} delivered + ${dead} dead + ${cancelled} cancelled + ${pruned} pruned`;
  return Object.fromEntries(lanes.map((lane) => [`${lane.subscriptionId} ${lane.destinationId}`, text(lane)]));
}

async function assertBalanced(store: Store, lane: LaneLedger): Promise<void> {
  const { subscriptionId, destinationId, enqueued, pending, delivered, dead, cancelled, pruned } = lane;
  assert.equal(enqueued, pending + delivered + dead + cancelled + pruned, 'the ledger balances');
  const rows = await store.deliveries.list(
    { subscriptionId, destinationId, state: 'pending' },
    { beforeId: null, limit: 10_000 },
  );
  assert.equal(rows.length, pending, 'as many rows are pending as the ledger says');
}
