import type { DeliveryRetention, DeliveryState, LaneKey } from '../../store.ts';
import { execute, executeForTuples, integerOrNull, type Program, type Row, statement, text } from '../statement.ts';

export interface AgedPart extends LaneKey {
  readonly state: DeliveryState;
  readonly beforeMs: number;
  readonly nowMs: number;
}

/**
 * Lanes and states whose first delivery has aged out. Within a lane deliveries end in order, so the first is the
 * oldest. A delivery dated in the future by a fast clock is skipped: it would block all behind it until then.
 */
export function* readAgedParts(retention: DeliveryRetention): Program<AgedPart[]> {
  const limits: readonly (readonly [DeliveryState, number])[] = [
    ['delivered', retention.endedBeforeMs],
    ['cancelled', retention.endedBeforeMs],
    ['dead', retention.deadBeforeMs],
    ['pending', retention.pendingBeforeMs],
  ];
  const oldest = limits.map(
    ([state]) => `(SELECT aged_from_ms FROM event_deliveries
      WHERE event_deliveries.subscription_id = event_lanes.subscription_id
        AND event_deliveries.destination_id = event_lanes.destination_id AND state = '${state}'
        AND aged_from_ms <= ? ORDER BY seq LIMIT 1) AS ${state}_ms`,
  );
  const { nowMs } = retention;
  const rows = yield statement(
    `SELECT subscription_id, destination_id, ${oldest.join(', ')} FROM event_lanes`,
    limits.map(() => nowMs),
  );
  return rows.flatMap((row) =>
    limits.flatMap(([state, beforeMs]) => {
      const oldestMs = integerOrNull(row, `${state}_ms`);
      if (oldestMs === null || oldestMs >= beforeMs) return [];
      const lane = { subscriptionId: text(row, 'subscription_id'), destinationId: text(row, 'destination_id') };
      return [{ ...lane, state, beforeMs, nowMs }];
    }),
  );
}

/** At most `limit`, with the events that nothing refers to any longer; returns how many deliveries were deleted. */
export function* pruneDeliveries(part: AgedPart, limit: number): Program<number> {
  const { subscriptionId, destinationId, state, beforeMs, nowMs } = part;
  const rows = yield statement(
    `DELETE FROM event_deliveries WHERE id IN (
      SELECT id FROM (
        SELECT id, aged_from_ms FROM event_deliveries WHERE subscription_id = ? AND destination_id = ? AND state = ?
          AND aged_from_ms <= ? ORDER BY seq LIMIT ?
      ) AS oldest WHERE aged_from_ms < ?
    ) RETURNING event_id`,
    [subscriptionId, destinationId, state, nowMs, limit, beforeMs],
  );
  if (state === 'pending') {
    yield* execute(
      'UPDATE event_lanes SET pruned = pruned + ?, pending = pending - ? WHERE subscription_id = ? AND destination_id = ?',
      [rows.length, rows.length, subscriptionId, destinationId],
    );
  }
  yield* removeUnusedEvents(rows);
  return rows.length;
}

function* removeUnusedEvents(rows: readonly Row[]): Program<void> {
  const ids = [...new Set(rows.map((row) => text(row, 'event_id')))];
  yield* executeForTuples(
    `DELETE FROM events WHERE id IN (VALUES %s)
      AND NOT EXISTS (SELECT 1 FROM event_deliveries WHERE event_deliveries.event_id = events.id)`,
    ids.map((id) => [id]),
  );
}

/** Events that never had a delivery, and lanes whose subscription and deliveries are all gone. */
export function* pruneEventsAndLanes(beforeMs: number, limit: number): Program<number> {
  yield statement(
    `DELETE FROM event_lanes WHERE pending = 0
      AND NOT EXISTS (SELECT 1 FROM records WHERE kind = 'event_subscription' AND records.id = event_lanes.subscription_id)
      AND NOT EXISTS (SELECT 1 FROM event_deliveries WHERE event_deliveries.subscription_id = event_lanes.subscription_id
        AND event_deliveries.destination_id = event_lanes.destination_id)`,
  );
  const rows = yield statement(
    `SELECT id FROM events WHERE created_at_ms < ?
      AND NOT EXISTS (SELECT 1 FROM event_deliveries WHERE event_deliveries.event_id = events.id) LIMIT ?`,
    [beforeMs, limit],
  );
  yield* executeForTuples(
    'DELETE FROM events WHERE id IN (VALUES %s)',
    rows.map((row) => [text(row, 'id')]),
  );
  return rows.length;
}
