import type { ClaimedLane, ClaimOptions, LaneKey } from '../../store.ts';
import {
  integer,
  integerOrNull,
  type Program,
  queryForTuples,
  queryOne,
  type Row,
  statement,
  text,
} from '../statements/statement.ts';
import { type CallerTime, clockShift } from '../statements/store-time.ts';
import { type PendingRow, readHead } from './delivery-rows.ts';

export interface ClaimedLaneRow extends Omit<ClaimedLane, 'deliveries'> {
  readonly deliveries: readonly PendingRow[];
}

const IS_DUE = 'pending > 0 AND is_held = 0 AND next_attempt_at_ms <= ? AND lease_until_ms <= ?';

export interface DueLanes {
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
