import type { Delivery, LaneKey } from '../../store.ts';
import { eventRows, insertEvents } from '../events/event-rows.ts';
import type { SealedEvent } from '../sealing/sealed-write-set.ts';
import { insertRows, integer, type Program, queryOne, type SqlValue } from '../statements/statement.ts';
import { addToLanes, laneText } from './lane-rows.ts';

const COLUMNS = [
  'id',
  'seq',
  'subscription_id',
  'destination_id',
  'event_id',
  'state',
  'attempts',
  'refusals',
  'created_at_ms',
  'aged_from_ms',
];

export interface NewDelivery extends LaneKey {
  readonly id: string;
  readonly eventId: string;
  readonly createdAtMs: number;
}

/** In the given order, at the ends of their lanes. */
export function* insertPending(deliveries: readonly NewDelivery[]): Program<void> {
  if (deliveries.length === 0) return;
  yield* insertNumbered(deliveries, yield* takeSeqs(deliveries.length));
}

/** For callers that have already taken the numbers from `first` on. */
export function* insertNumbered(deliveries: readonly NewDelivery[], first: number): Program<void> {
  yield* insertRows(
    'event_deliveries',
    COLUMNS,
    deliveries.map(({ id, subscriptionId, destinationId, eventId, createdAtMs }, at) => {
      const row: SqlValue[] = [id, first + at, subscriptionId, destinationId, eventId, 'pending', '[]', 0];
      return [...row, createdAtMs, createdAtMs];
    }),
  );
  yield* addToLanes(countsOf(deliveries), 'pending');
}

export interface DeliveryToPut extends Omit<Delivery, 'event' | 'attempts'> {
  readonly event: SealedEvent;
  readonly attempts: string;
}

/** Existing ones are left unchanged. */
export function* putDeliveries(deliveries: readonly DeliveryToPut[]): Program<void> {
  for (const { id, subscriptionId, destinationId, event, state, attempts, createdAtMs } of deliveries) {
    if ((yield* queryOne('SELECT 1 AS one FROM event_deliveries WHERE id = ?', [id])) !== null) continue;
    if ((yield* queryOne('SELECT 1 AS one FROM events WHERE id = ?', [event.id])) === null) {
      yield* insertEvents(eventRows([event], 0));
    }
    const row: SqlValue[] = [id, yield* takeSeqs(1), subscriptionId, destinationId, event.id, state, attempts, 0];
    yield* insertRows('event_deliveries', COLUMNS, [[...row, createdAtMs, createdAtMs]]);
    yield* addToLanes([{ subscriptionId, destinationId, count: 1 }], state);
  }
}

/** Only under the writers' lock, like revisions: so the order in a lane is the order of the commits. */
function* takeSeqs(count: number): Program<number> {
  const row = yield* queryOne("UPDATE counter SET value = value + ? WHERE name = 'delivery_seq' RETURNING value", [
    count,
  ]);
  if (row === null) throw new Error('the store has no counter delivery_seq');
  return integer(row, 'value') - count + 1;
}

function countsOf(lanes: readonly LaneKey[]): (LaneKey & { count: number })[] {
  const counts = new Map<string, LaneKey & { count: number }>();
  for (const { subscriptionId, destinationId } of lanes) {
    const key = laneText({ subscriptionId, destinationId });
    const known = counts.get(key);
    if (known === undefined) counts.set(key, { subscriptionId, destinationId, count: 1 });
    else known.count += 1;
  }
  return [...counts.values()];
}
