import type { Delivery, DeliveryFilter, LaneKey } from '../../store.ts';
import type { SealedEvent } from '../seal.ts';
import {
  insertRows,
  integer,
  type Program,
  queryForTuples,
  queryOne,
  type Row,
  type SqlValue,
  type Statement,
  statement,
  text,
} from '../statement.ts';
import { eventRows, insertEvents, readBySeq, sequencesOf } from './delivery-rows.ts';
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
function* insertPending(deliveries: readonly NewDelivery[]): Program<void> {
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

interface DeliveryToPut extends Omit<Delivery, 'event' | 'attempts'> {
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

interface Replay {
  readonly id: string;
  readonly newId: string;
}

interface ReplayableId {
  readonly id: string;
  readonly seq: number;
  readonly type: string;
}

interface ReplayCursor {
  readonly afterSeq: number;
  /** A replay matches most filters itself, and must not be replayed in turn. */
  readonly upToSeq: number;
  readonly limit: number;
}

/** Oldest first: replayed in this order, a lane stays in order. */
export function* listReplayable(filter: DeliveryFilter, cursor: ReplayCursor): Program<ReplayableId[]> {
  const sequences = yield* sequencesOf(filter, [
    { sql: 'seq > ?', param: cursor.afterSeq },
    { sql: 'seq <= ?', param: cursor.upToSeq },
  ]);
  const rows = yield* readBySeq(sequences, { order: 'ASC', limit: cursor.limit, select: withTypes });
  return rows.map((row) => ({ id: text(row, 'id'), seq: integer(row, 'seq'), type: text(row, 'type') }));
}

function withTypes(page: Statement): Statement {
  return statement(
    `SELECT page.id AS id, seq, type FROM (${page.sql}) AS page JOIN events ON events.id = page.event_id ORDER BY seq`,
    page.params,
  );
}

/**
 * Returns, in the given order, which became a new delivery; a lane whose subscription no longer sends there is closed.
 */
export function* replayDeliveries(
  replays: readonly Replay[],
  nowMs: number,
): Program<('replayed' | 'closed' | 'absent')[]> {
  const rows = yield* queryForTuples(
    `SELECT id, subscription_id, destination_id, event_id,
      EXISTS (SELECT 1 FROM record_references WHERE from_kind = 'event_subscription' AND from_id = subscription_id
        AND to_kind = 'event_destination' AND to_id = destination_id) AS is_open
    FROM event_deliveries WHERE id IN (VALUES %s)`,
    replays.map(({ id }) => [id]),
  );
  const found = new Map(rows.map((row) => [text(row, 'id'), row]));
  const answers = replays.map(({ id, newId }) => ({ newId, row: found.get(id) }));
  yield* insertPending(
    answers.flatMap(({ newId, row }) => {
      if (row === undefined || !isOpen(row)) return [];
      return [
        {
          id: newId,
          subscriptionId: text(row, 'subscription_id'),
          destinationId: text(row, 'destination_id'),
          eventId: text(row, 'event_id'),
          createdAtMs: nowMs,
        },
      ];
    }),
  );
  return answers.map(({ row }) => (row === undefined ? 'absent' : isOpen(row) ? 'replayed' : 'closed'));
}

/** A boolean in PostgreSQL, a number in SQLite. */
function isOpen(row: Row): boolean {
  return Boolean(row['is_open']);
}
