import type { Delivery, DeliveryFilter, DeliveryState, PageQuery } from '../store.ts';
import { type Condition, pageStatement, whereSql } from './page-statement.ts';
import { insertRows, integer, integerOrNull, type Program, queryOne, type Row, statement, text } from './statement.ts';

export interface DeliveryRow extends Omit<Delivery, 'event' | 'attempts'> {
  readonly event: string;
  readonly attempts: string;
}

const DELIVERY_COLUMNS = [
  'id',
  'subscription_id',
  'destination_id',
  'event',
  'state',
  'attempts',
  'created_at_ms',
  'next_attempt_at_ms',
];

function deliveryOf(row: Row): DeliveryRow {
  return {
    id: text(row, 'id'),
    subscriptionId: text(row, 'subscription_id'),
    destinationId: text(row, 'destination_id'),
    event: text(row, 'event'),
    state: text(row, 'state') as DeliveryState,
    attempts: text(row, 'attempts'),
    createdAtMs: integer(row, 'created_at_ms'),
    nextAttemptAtMs: integerOrNull(row, 'next_attempt_at_ms'),
  };
}

export function* putDeliveries(deliveries: readonly DeliveryRow[]): Program<void> {
  const distinct = new Map(deliveries.map((delivery) => [delivery.id, delivery]));
  yield* insertRows(
    'deliveries',
    DELIVERY_COLUMNS,
    [...distinct.values()].map((row) => [
      row.id,
      row.subscriptionId,
      row.destinationId,
      row.event,
      row.state,
      row.attempts,
      row.createdAtMs,
      row.nextAttemptAtMs,
    ]),
    `ON CONFLICT (id) DO UPDATE SET subscription_id = excluded.subscription_id,
      destination_id = excluded.destination_id, event = excluded.event, state = excluded.state,
      attempts = excluded.attempts, created_at_ms = excluded.created_at_ms,
      next_attempt_at_ms = excluded.next_attempt_at_ms`,
  );
}

export function* getDelivery(id: string): Program<DeliveryRow | null> {
  const row = yield* queryOne(`SELECT ${DELIVERY_COLUMNS.join(', ')} FROM deliveries WHERE id = ?`, [id]);
  return row === null ? null : deliveryOf(row);
}

export function* listDeliveries(filter: DeliveryFilter, query: PageQuery): Program<DeliveryRow[]> {
  const rows = yield pageStatement(`SELECT ${DELIVERY_COLUMNS.join(', ')} FROM deliveries`, conditions(filter), query);
  return rows.map(deliveryOf);
}

/** Oldest first: replayed in this order, a lane stays in order. */
export function* listDeliveryIds(filter: DeliveryFilter): Program<string[]> {
  const all = conditions(filter);
  const rows = yield statement(
    `SELECT id FROM deliveries${whereSql(all)} ORDER BY id`,
    all.map(({ param }) => param),
  );
  return rows.map((row) => text(row, 'id'));
}

export interface Replay {
  readonly id: string;
  readonly newId: string;
}

/** Those that are gone meanwhile are left out of the answer. */
export function* replayDeliveries(replays: readonly Replay[], nowMs: number): Program<DeliveryRow[]> {
  const replayed: DeliveryRow[] = [];
  for (const { id, newId } of replays) {
    const rows = yield statement(
      `INSERT INTO deliveries (${DELIVERY_COLUMNS.join(', ')})
      SELECT CAST(? AS text), subscription_id, destination_id, event, 'pending', '[]',
        CAST(? AS bigint), CAST(? AS bigint)
      FROM deliveries WHERE id = ? RETURNING ${DELIVERY_COLUMNS.join(', ')}`,
      [newId, nowMs, nowMs, id],
    );
    for (const row of rows) replayed.push(deliveryOf(row));
  }
  return replayed;
}

function conditions(filter: DeliveryFilter): Condition[] {
  const all: Condition[] = [];
  if (filter.subscriptionId !== undefined) all.push({ sql: 'subscription_id = ?', param: filter.subscriptionId });
  if (filter.destinationId !== undefined) all.push({ sql: 'destination_id = ?', param: filter.destinationId });
  if (filter.state !== undefined) all.push({ sql: 'state = ?', param: filter.state });
  if (filter.sinceMs !== undefined) all.push({ sql: 'created_at_ms >= ?', param: filter.sinceMs });
  if (filter.untilMs !== undefined) all.push({ sql: 'created_at_ms < ?', param: filter.untilMs });
  return all;
}
