import type { DeliveryOutcome, Settlement } from '../../store.ts';
import {
  integer,
  type Program,
  queryForTuples,
  queryOne,
  type SqlValue,
  statement,
  text,
} from '../statements/statement.ts';
import { type CallerTime, clockShift } from '../statements/store-time.ts';
import { type PendingRow, readHead } from './delivery-rows.ts';
import { isActive } from './lane-rows.ts';

export interface SettlementRow extends Omit<Settlement, 'outcomes'> {
  readonly outcomes: readonly (Omit<DeliveryOutcome, 'attempts'> & { readonly attempts: string })[];
}

/**
 * The columns of `VALUES` have the same names in both engines, and PostgreSQL treats parameters there as text unless
 * cast.
 */
const SETTLE_DELIVERIES = `UPDATE event_deliveries
  SET state = given.column2, attempts = given.column3, refusals = CAST(given.column4 AS bigint),
    aged_from_ms = CASE WHEN given.column2 = 'pending' THEN aged_from_ms ELSE CAST(given.column5 AS bigint) END
  FROM (VALUES %s) AS given
  WHERE event_deliveries.id = given.column1 AND event_deliveries.state = 'pending'
  RETURNING state`;

/** Deliveries cancelled or pruned in the meantime stay so: the outcome of sending them is ignored. */
export function* settleLane(settlement: SettlementRow, time: CallerTime): Program<PendingRow[] | null> {
  const { subscriptionId, destinationId, owner, fence, nowMs, outcomes } = settlement;
  const shiftMs = yield* clockShift(time);
  const untilMs = settlement.untilMs === null ? null : settlement.untilMs + shiftMs;
  // 0 means immediately; it is not a time.
  const nextAttemptAtMs = settlement.nextAttemptAtMs === 0 ? 0 : settlement.nextAttemptAtMs + shiftMs;
  const lane = yield* queryOne(
    `SELECT wakes, is_held FROM event_lanes
    WHERE subscription_id = ? AND destination_id = ? AND lease_owner = ? AND fence = ?`,
    [subscriptionId, destinationId, owner, fence],
  );
  if (lane === null) return null;
  const settled = yield* queryForTuples(
    SETTLE_DELIVERIES,
    outcomes.map(({ id, state, attempts, refusals }) => [id, state, attempts, refusals, nowMs]),
  );
  const delivered = settled.filter((row) => text(row, 'state') === 'delivered').length;
  const dead = settled.filter((row) => text(row, 'state') === 'dead').length;

  const isWoken = integer(lane, 'wakes') !== settlement.wakes;
  const isHeld = integer(lane, 'is_held') === 1 || (settlement.isHeld && !(yield* isActive(destinationId)));
  const next = untilMs === null || isHeld ? [] : yield* readHead(settlement, settlement.maxDeliveries);
  const isReleased = next.length === 0;
  const health: SqlValue[] = isWoken
    ? [0, 0, null, 0]
    : [settlement.failures, settlement.failingCount, settlement.failingSinceMs, nextAttemptAtMs];
  yield statement(
    `UPDATE event_lanes SET pending = pending - ?, delivered = delivered + ?, dead = dead + ?,
      failures = ?, failing_count = ?, failing_since_ms = ?, next_attempt_at_ms = ?, is_held = ?,
      lease_owner = ?, lease_until_ms = ?
    WHERE subscription_id = ? AND destination_id = ?`,
    [
      delivered + dead,
      delivered,
      dead,
      ...health,
      isHeld ? 1 : 0,
      isReleased ? '' : owner,
      isReleased ? 0 : untilMs,
      subscriptionId,
      destinationId,
    ],
  );
  return next;
}
