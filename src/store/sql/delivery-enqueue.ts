import { createHash } from 'node:crypto';
import type { Delivery, LaneKey } from '../store.ts';
import { insertEvents } from './event-rows.ts';
import { addToLanes, laneText } from './lane-rows.ts';
import { parseObject } from './seal.ts';
import type { SealedEvent } from './sealed-write-set.ts';
import { insertRows, integer, type Program, queryOne, type SqlValue, statement, text } from './statement.ts';

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
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export interface NewDelivery extends LaneKey {
  readonly id: string;
  readonly eventId: string;
  readonly createdAtMs: number;
}

/**
 * A delivery for each event and each lane of a subscription that wants its type, judged here, under the writers' lock: a
 * type that was added or taken away holds for the next event, whatever the process that wrote this one has heard of it.
 */
export function* enqueueDeliveries(events: readonly SealedEvent[]): Program<number> {
  if (events.length === 0) return 0;
  const lanes = yield* lanesByType(new Set(events.map(({ type }) => type)));
  const rows = events.flatMap((event) =>
    (lanes.get(event.type) ?? []).map((lane) => ({
      ...lane,
      id: deliveryId(event.id, lane),
      eventId: event.id,
      createdAtMs: event.createdAtMs,
    })),
  );
  yield* insertPending(rows);
  return rows.length;
}

/** Events without a change. Only what somebody wants is kept: nothing else would ever take the rest away. */
export function* recordEvents(events: readonly SealedEvent[]): Program<number> {
  const lanes = yield* lanesByType(new Set(events.map(({ type }) => type)));
  const wanted = events.filter(({ type }) => (lanes.get(type) ?? []).length > 0);
  yield* insertEvents(wanted, 0);
  yield* enqueueDeliveries(wanted);
  return wanted.length;
}

/** In the order given, at the ends of their lanes. */
export function* insertPending(deliveries: readonly NewDelivery[]): Program<void> {
  if (deliveries.length === 0) return;
  const first = yield* takeSeqs(deliveries.length);
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

/** Those that are there already are left alone. */
export function* putDeliveries(deliveries: readonly DeliveryToPut[]): Program<void> {
  for (const { id, subscriptionId, destinationId, event, state, attempts, createdAtMs } of deliveries) {
    if ((yield* queryOne('SELECT 1 AS one FROM event_deliveries WHERE id = ?', [id])) !== null) continue;
    if ((yield* queryOne('SELECT 1 AS one FROM events WHERE id = ?', [event.id])) === null) {
      yield* insertEvents([event], 0);
    }
    const row: SqlValue[] = [id, yield* takeSeqs(1), subscriptionId, destinationId, event.id, state, attempts, 0];
    yield* insertRows('event_deliveries', COLUMNS, [[...row, createdAtMs, createdAtMs]]);
    yield* addToLanes([{ subscriptionId, destinationId, count: 1 }], state);
  }
}

/** Only under the writers' lock, as revisions are taken: so the order in a lane is the order of the commits. */
function* takeSeqs(count: number): Program<number> {
  const row = yield* queryOne("UPDATE counter SET value = value + ? WHERE name = 'delivery_seq' RETURNING value", [
    count,
  ]);
  if (row === null) throw new Error('the store has no counter delivery_seq');
  return integer(row, 'value') - count + 1;
}

function* lanesByType(types: ReadonlySet<string>): Program<Map<string, LaneKey[]>> {
  // The database only narrows it down, and cheaply so (with LIKE it took SQLite several times as long, for every change); what a
  // subscription wants its document says.
  const rows = yield statement(
    `SELECT id, doc FROM records WHERE kind = 'event_subscription' AND (${[...types].map(() => "replace(doc, ?, '') <> doc").join(' OR ')})
    ORDER BY id`,
    [...types].map((type) => `"type":"${type}"`),
  );
  const lanes = new Map<string, LaneKey[]>();
  for (const row of rows) {
    const { sources, destination_ids: destinationIds } = parseObject(text(row, 'doc')) as unknown as SubscriptionDoc;
    for (const { type } of sources) {
      if (!types.has(type)) continue;
      const found = lanes.get(type) ?? [];
      for (const destinationId of destinationIds) found.push({ subscriptionId: text(row, 'id'), destinationId });
      lanes.set(type, found);
    }
  }
  return lanes;
}

/** What the store has to know of a subscription. */
interface SubscriptionDoc {
  readonly sources: readonly { readonly type: string }[];
  readonly destination_ids: readonly string[];
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

/** Made of what it is about, since a transaction has no source of ids at hand; its beginning is the event's, so ids keep their order. */
function deliveryId(eventId: string, lane: LaneKey): string {
  const hash = createHash('sha256')
    .update(`${eventId}\0${laneText(lane)}`)
    .digest();
  const time = eventId.slice(eventId.indexOf('_') + 1, eventId.indexOf('_') + 10).padEnd(9, '0');
  return `evd_${time}${Array.from(hash.subarray(0, 18), (byte) => ALPHABET.charAt(byte % 62)).join('')}`;
}
