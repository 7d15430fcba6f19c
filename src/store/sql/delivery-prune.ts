import type { DeliveryRetention } from '../store.ts';
import { laneText } from './lane-rows.ts';
import { type Program, queryForTuples, type Row, statement, text } from './statement.ts';

/** At most `limit` of each kind, with the events that nothing refers to any more; answers how many deliveries went. */
export function* pruneDeliveries(retention: DeliveryRetention, limit: number): Program<number> {
  const ended = [
    ...(yield* removeOlder('delivered', retention.endedBeforeMs, limit)),
    ...(yield* removeOlder('cancelled', retention.endedBeforeMs, limit)),
    ...(yield* removeOlder('dead', retention.deadBeforeMs, limit)),
  ];
  const pending = yield* removeOlder('pending', retention.pendingBeforeMs, limit);
  yield* countPruned(pending);
  yield* removeUnusedEvents([...ended, ...pending]);
  return ended.length + pending.length;
}

function* removeOlder(state: string, beforeMs: number, limit: number): Program<readonly Row[]> {
  return yield statement(
    `DELETE FROM event_deliveries WHERE id IN (
      SELECT id FROM event_deliveries WHERE state = ? AND aged_from_ms < ? LIMIT ?
    ) RETURNING subscription_id, destination_id, event_id`,
    [state, beforeMs, limit],
  );
}

function* countPruned(rows: readonly Row[]): Program<void> {
  const byLane = Map.groupBy(rows, (row) =>
    laneText({ subscriptionId: text(row, 'subscription_id'), destinationId: text(row, 'destination_id') }),
  );
  for (const ofLane of byLane.values()) {
    const [first] = ofLane;
    if (first === undefined) continue;
    yield statement(
      `UPDATE event_lanes SET pruned = pruned + ?, pending = pending - ? WHERE subscription_id = ? AND destination_id = ?`,
      [ofLane.length, ofLane.length, text(first, 'subscription_id'), text(first, 'destination_id')],
    );
  }
}

function* removeUnusedEvents(rows: readonly Row[]): Program<void> {
  const ids = [...new Set(rows.map((row) => text(row, 'event_id')))];
  yield* queryForTuples(
    `DELETE FROM events WHERE id IN (VALUES %s)
      AND NOT EXISTS (SELECT 1 FROM event_deliveries WHERE event_deliveries.event_id = events.id)`,
    ids.map((id) => [id]),
  );
}

/** Events that never had a delivery, and lanes of subscriptions that are gone with all that was in them. */
export function* pruneEventsAndLanes(beforeMs: number, limit: number): Program<number> {
  yield statement(
    `DELETE FROM event_lanes WHERE pending = 0
      AND NOT EXISTS (SELECT 1 FROM records WHERE kind = 'event_subscription' AND records.id = event_lanes.subscription_id)
      AND NOT EXISTS (SELECT 1 FROM event_deliveries WHERE event_deliveries.subscription_id = event_lanes.subscription_id
        AND event_deliveries.destination_id = event_lanes.destination_id)`,
  );
  const rows = yield statement(
    `DELETE FROM events WHERE id IN (
      SELECT id FROM events WHERE created_at_ms < ?
        AND NOT EXISTS (SELECT 1 FROM event_deliveries WHERE event_deliveries.event_id = events.id) LIMIT ?
    ) RETURNING id`,
    [beforeMs, limit],
  );
  return rows.length;
}
