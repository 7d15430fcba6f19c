import type { Delivery, DeliveryFilter, DeliveryState, LaneKey, PageQuery, PendingDelivery } from '../store.ts';
import { type Condition, pageStatement } from './page-statement.ts';
import { readCounter } from './revision-rows.ts';
import type { SealedEvent } from './sealed-write-set.ts';
import { integer, integerOrNull, type Program, queryOne, type Row, statement, text } from './statement.ts';

export interface DeliveryRow extends Omit<Delivery, 'event' | 'attempts'> {
  readonly event: SealedEvent;
  readonly attempts: string;
}

export interface PendingRow extends Omit<PendingDelivery, 'event' | 'attempts'> {
  readonly event: SealedEvent;
  readonly attempts: string;
}

const EVENT_COLUMNS = 'event_id, type, events.created_at_ms AS event_created_at_ms, payload';
/** A subquery, so that conditions and the order of a page name plain columns. */
const DELIVERIES = `(SELECT event_deliveries.id AS id, event_deliveries.subscription_id AS subscription_id,
    event_deliveries.destination_id AS destination_id, state, attempts, event_deliveries.created_at_ms AS created_at_ms,
    ${EVENT_COLUMNS},
    CASE WHEN state = 'pending' AND is_held = 0 THEN next_attempt_at_ms END AS lane_due_ms
  FROM event_deliveries
  JOIN events ON events.id = event_deliveries.event_id
  JOIN event_lanes ON event_lanes.subscription_id = event_deliveries.subscription_id
    AND event_lanes.destination_id = event_deliveries.destination_id) AS found`;

function deliveryOf(row: Row): DeliveryRow {
  const laneDueMs = integerOrNull(row, 'lane_due_ms');
  const createdAtMs = integer(row, 'created_at_ms');
  return {
    id: text(row, 'id'),
    subscriptionId: text(row, 'subscription_id'),
    destinationId: text(row, 'destination_id'),
    event: eventOf(row),
    state: text(row, 'state') as DeliveryState,
    attempts: text(row, 'attempts'),
    createdAtMs,
    nextAttemptAtMs: laneDueMs === null ? null : Math.max(laneDueMs, createdAtMs),
  };
}

function eventOf(row: Row): SealedEvent {
  return {
    id: text(row, 'event_id'),
    type: text(row, 'type'),
    createdAtMs: integer(row, 'event_created_at_ms'),
    payload: text(row, 'payload'),
  };
}

export function* getDelivery(id: string): Program<DeliveryRow | null> {
  const row = yield* queryOne(`SELECT * FROM ${DELIVERIES} WHERE id = ?`, [id]);
  return row === null ? null : deliveryOf(row);
}

export function* listDeliveries(filter: DeliveryFilter, query: PageQuery): Program<DeliveryRow[]> {
  const rows = yield pageStatement(`SELECT * FROM ${DELIVERIES}`, conditionsOf(filter), query);
  return rows.map(deliveryOf);
}

/** The oldest pending ones of a lane, in order. */
export function* readHead({ subscriptionId, destinationId }: LaneKey, limit: number): Program<PendingRow[]> {
  const rows = yield statement(
    `SELECT event_deliveries.id AS id, attempts, refusals, event_deliveries.created_at_ms AS created_at_ms, ${EVENT_COLUMNS}
    FROM event_deliveries JOIN events ON events.id = event_deliveries.event_id
    WHERE subscription_id = ? AND destination_id = ? AND state = 'pending' ORDER BY seq LIMIT ?`,
    [subscriptionId, destinationId, limit],
  );
  return rows.map((row) => ({
    id: text(row, 'id'),
    event: eventOf(row),
    attempts: text(row, 'attempts'),
    refusals: integer(row, 'refusals'),
    createdAtMs: integer(row, 'created_at_ms'),
  }));
}

export function* readDeliverySeq(): Program<number> {
  return yield* readCounter('delivery_seq');
}

export function conditionsOf(filter: DeliveryFilter): Condition[] {
  const all: Condition[] = [];
  if (filter.subscriptionId !== undefined) all.push({ sql: 'subscription_id = ?', param: filter.subscriptionId });
  if (filter.destinationId !== undefined) all.push({ sql: 'destination_id = ?', param: filter.destinationId });
  if (filter.state !== undefined) all.push({ sql: 'state = ?', param: filter.state });
  if (filter.sinceMs !== undefined) all.push({ sql: 'created_at_ms >= ?', param: filter.sinceMs });
  if (filter.untilMs !== undefined) all.push({ sql: 'created_at_ms < ?', param: filter.untilMs });
  return all;
}
