import type { ClaimedLane, ClaimOptions, DeliveryOutcome, LaneKey, Settlement } from '../../store.ts';
import {
  type CallerTime,
  clockShift,
  integer,
  integerOrNull,
  type Program,
  queryForTuples,
  queryOne,
  type Row,
  type SqlValue,
  statement,
  text,
} from '../statement.ts';
import { type PendingRow, readHead } from './delivery-rows.ts';
import { isActive } from './lane-rows.ts';

interface ClaimedLaneRow extends Omit<ClaimedLane, 'deliveries'> {
  readonly deliveries: readonly PendingRow[];
}

const IS_DUE = 'pending > 0 AND is_held = 0 AND next_attempt_at_ms <= ? AND lease_until_ms <= ?';

interface DueLanes {
  readonly lanes: readonly LaneKey[];
  readonly nextDueMs: number | null;
}

/** Runs first, as a read: a caller that finds nothing has not waited for the writers' lock. */
export function* readDueLanes(time: CallerTime, limit: number): Program<DueLanes> {
  const shiftMs = yield* clockShift(time);
  const nowMs = time.nowMs + shiftMs;
  const rows = yield statement(
    `SELECT subscription_id, destination_id FROM event_lanes WHERE ${IS_DUE} ORDER BY next_attempt_at_ms LIMIT ?`,
    [nowMs, nowMs, limit],
  );
  const next = yield* queryOne(
    `SELECT min(CASE WHEN next_attempt_at_ms > lease_until_ms THEN next_attempt_at_ms ELSE lease_until_ms END) AS due_ms
    FROM event_lanes WHERE pending > 0 AND is_held = 0`,
  );
  const dueMs = next === null ? null : integerOrNull(next, 'due_ms');
  return { lanes: rows.map(laneOf), nextDueMs: dueMs === null ? null : dueMs - shiftMs };
}

export function* claimLanes(
  lanes: readonly LaneKey[],
  options: ClaimOptions,
  time: CallerTime,
): Program<ClaimedLaneRow[]> {
  const shiftMs = yield* clockShift(time);
  const [nowMs, untilMs] = [options.nowMs + shiftMs, options.untilMs + shiftMs];
  const claimed: ClaimedLaneRow[] = [];
  for (const lane of lanes) {
    const row = yield* queryOne(
      `UPDATE event_lanes SET lease_owner = ?, lease_until_ms = ?, fence = fence + 1
      WHERE subscription_id = ? AND destination_id = ? AND ${IS_DUE}
      RETURNING fence, wakes, failures, failing_count, failing_since_ms`,
      [options.owner, untilMs, lane.subscriptionId, lane.destinationId, nowMs, nowMs],
    );
    if (row === null) continue;
    claimed.push({
      ...lane,
      fence: integer(row, 'fence'),
      wakes: integer(row, 'wakes'),
      failures: integer(row, 'failures'),
      failingCount: integer(row, 'failing_count'),
      failingSinceMs: integerOrNull(row, 'failing_since_ms'),
      deliveries: yield* readHead(lane, options.maxDeliveries),
    });
  }
  return claimed;
}

/**
 * The columns of `VALUES` have the same names in both engines, and PostgreSQL treats parameters there as text unless
 * cast.
 */
const RENEW = `UPDATE event_lanes SET lease_until_ms = CAST(given.column4 AS bigint) FROM (VALUES %s) AS given
  WHERE event_lanes.subscription_id = given.column1 AND event_lanes.destination_id = given.column2
    AND event_lanes.lease_owner = given.column3
  RETURNING subscription_id, destination_id, fence`;

export function* renewLanes(
  owner: string,
  lanes: readonly LaneKey[],
  untilMs: number,
  time: CallerTime,
): Program<(LaneKey & { fence: number })[]> {
  const endMs = untilMs + (yield* clockShift(time));
  const rows = yield* queryForTuples(
    RENEW,
    lanes.map(({ subscriptionId, destinationId }) => [subscriptionId, destinationId, owner, endMs]),
  );
  return rows.map((row) => ({ ...laneOf(row), fence: integer(row, 'fence') }));
}

export function* wakeLanes(time: CallerTime, { isAlone }: { readonly isAlone: boolean }): Program<void> {
  if (isAlone) yield statement("UPDATE event_lanes SET lease_owner = '', lease_until_ms = 0 WHERE lease_until_ms > 0");
  yield statement(
    'UPDATE event_lanes SET next_attempt_at_ms = 0 WHERE next_attempt_at_ms > 0 AND lease_until_ms <= ?',
    [time.nowMs + (yield* clockShift(time))],
  );
}

function laneOf(row: Row): LaneKey {
  return { subscriptionId: text(row, 'subscription_id'), destinationId: text(row, 'destination_id') };
}

interface SettlementRow extends Omit<Settlement, 'outcomes'> {
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
