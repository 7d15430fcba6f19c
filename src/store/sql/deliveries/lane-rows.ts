import { createHash } from 'node:crypto';
import type { DeliveryState, LaneKey, LaneLedger } from '../../store.ts';
import type { Judged } from '../records/record-rows.ts';
import { parseObject, type SealedPut } from '../seal.ts';
import {
  execute,
  insertRows,
  integer,
  integerOrNull,
  type Program,
  queryOne,
  type SqlValue,
  statement,
  text,
} from '../statement.ts';

const SUBSCRIPTION = 'event_subscription';
const DESTINATION = 'event_destination';

/** Identity of a lane in a map. NUL cannot occur in an id. */
export function laneText({ subscriptionId, destinationId }: LaneKey): string {
  return `${subscriptionId}\0${destinationId}`;
}

/** Adds new deliveries in this state; a missing lane is created. */
export function* addToLanes(
  counts: readonly (LaneKey & { readonly count: number })[],
  state: DeliveryState,
): Program<void> {
  const columns = ['enqueued', state, ...LANE_DEFAULTS.keys()].filter((name, at, all) => all.indexOf(name) === at);
  const defaults = columns.slice(2).map((name) => LANE_DEFAULTS.get(name) ?? null);
  yield* insertRows(
    'event_lanes',
    ['subscription_id', 'destination_id', ...columns],
    counts.map(({ subscriptionId, destinationId, count }) => [
      subscriptionId,
      destinationId,
      count,
      count,
      ...defaults,
    ]),
    `ON CONFLICT (subscription_id, destination_id) DO UPDATE SET enqueued = event_lanes.enqueued + excluded.enqueued,
      ${state} = event_lanes.${state} + excluded.${state}`,
  );
}

const LANE_DEFAULTS: ReadonlyMap<string, SqlValue> = new Map<string, SqlValue>([
  ['pending', 0],
  ['delivered', 0],
  ['dead', 0],
  ['cancelled', 0],
  ['pruned', 0],
  ['is_held', 0],
  ['next_attempt_at_ms', 0],
  ['failures', 0],
  ['failing_count', 0],
  ['failing_since_ms', null],
  ['wakes', 0],
  ['fence', 0],
  ['lease_owner', ''],
  ['lease_until_ms', 0],
]);

/** Whether `followEventRecords` has something to do. */
export function movesLanes({ gone, puts }: Judged): boolean {
  for (const { kind } of gone.values()) if (kind === SUBSCRIPTION || kind === DESTINATION) return true;
  for (const { kind } of puts.values()) if (kind === SUBSCRIPTION || kind === DESTINATION) return true;
  return false;
}

/** Applies changes of subscriptions and destinations to their lanes. */
export function* followEventRecords({ gone, puts }: Judged, nowMs: number): Program<void> {
  for (const [key, { kind, id }] of gone) {
    if (puts.has(key)) continue;
    if (kind === SUBSCRIPTION) yield* cancelPending('subscription_id = ?', [id], nowMs);
    if (kind === DESTINATION) yield* cancelPending('destination_id = ?', [id], nowMs);
  }
  for (const put of puts.values()) {
    if (put.kind === SUBSCRIPTION) yield* keepLanesTo(put, nowMs);
    if (put.kind === DESTINATION) yield* followStatus(put);
  }
}

/** Lanes to destinations that the subscription no longer lists end. */
function* keepLanesTo({ id, references }: SealedPut, nowMs: number): Program<void> {
  const kept = references.filter(({ to }) => to.kind === DESTINATION).map(({ to }) => to.id);
  const others = kept.length === 0 ? '' : ` AND destination_id NOT IN (${kept.map(() => '?').join(', ')})`;
  yield* cancelPending(`subscription_id = ?${others}`, [id, ...kept], nowMs);
}

function* cancelPending(where: string, params: readonly SqlValue[], nowMs: number): Program<void> {
  const lanes = yield statement(
    `UPDATE event_lanes SET cancelled = cancelled + pending, pending = 0 WHERE ${where} AND pending > 0
    RETURNING subscription_id, destination_id`,
    params,
  );
  for (const lane of lanes) {
    yield* execute(
      `UPDATE event_deliveries SET state = 'cancelled', aged_from_ms = ?
      WHERE subscription_id = ? AND destination_id = ? AND state = 'pending'`,
      [nowMs, text(lane, 'subscription_id'), text(lane, 'destination_id')],
    );
  }
}

/** A user who changes or resumes a destination wants to see it tried now, not after the lane's long wait. */
function* followStatus({ id, doc }: SealedPut): Program<void> {
  yield statement(
    isActiveDoc(doc)
      ? `UPDATE event_lanes SET is_held = 0, next_attempt_at_ms = 0, failures = 0, failing_count = 0,
          failing_since_ms = NULL, wakes = wakes + 1 WHERE destination_id = ?`
      : 'UPDATE event_lanes SET is_held = 1 WHERE destination_id = ?',
    [id],
  );
}

/** A lane may be younger than the pause of its destination, and a process may not know of its resume. */
export function* isActive(destinationId: string): Program<boolean> {
  const row = yield* queryOne('SELECT doc FROM records WHERE kind = ? AND id = ?', [DESTINATION, destinationId]);
  return row !== null && isActiveDoc(text(row, 'doc'));
}

function isActiveDoc(doc: string): boolean {
  return parseObject(doc)['status'] === 'active';
}

export function* readLedger(): Program<LaneLedger[]> {
  const rows = yield statement(
    `SELECT subscription_id, destination_id, enqueued, pending, delivered, dead, cancelled, pruned, is_held,
      failing_since_ms,
      (SELECT created_at_ms FROM event_deliveries WHERE event_deliveries.subscription_id = event_lanes.subscription_id
        AND event_deliveries.destination_id = event_lanes.destination_id AND state = 'pending'
        ORDER BY seq LIMIT 1) AS oldest_pending_ms
    FROM event_lanes ORDER BY subscription_id, destination_id`,
  );
  return rows.map((row) => ({
    subscriptionId: text(row, 'subscription_id'),
    destinationId: text(row, 'destination_id'),
    enqueued: integer(row, 'enqueued'),
    pending: integer(row, 'pending'),
    delivered: integer(row, 'delivered'),
    dead: integer(row, 'dead'),
    cancelled: integer(row, 'cancelled'),
    pruned: integer(row, 'pruned'),
    oldestPendingMs: integerOrNull(row, 'oldest_pending_ms'),
    isHeld: integer(row, 'is_held') === 1,
    failingSinceMs: integerOrNull(row, 'failing_since_ms'),
  }));
}

/** The fields of a subscription that the store reads. */
interface SubscriptionDoc {
  readonly sources: readonly { readonly type: string }[];
  readonly destination_ids: readonly string[];
}

/** The lanes of subscriptions that currently want each of these types. */
export function* readWantingLanes(types: ReadonlySet<string>): Program<Map<string, LaneKey[]>> {
  // The query only narrows the candidates, cheaply (with LIKE it took SQLite several times as long); the subscription's
  // document decides.
  const rows = yield statement(
    `SELECT id, doc FROM records WHERE kind = 'event_subscription' AND (${[...types].map(() => "replace(doc, ?, '') <> doc").join(' OR ')})
    ORDER BY id`,
    [...types].map((type) => `"type":"${type}"`),
  );
  const lanes = new Map<string, LaneKey[]>([...types].map((type) => [type, []]));
  for (const row of rows) {
    const { sources, destination_ids: destinationIds } = parseObject(text(row, 'doc')) as unknown as SubscriptionDoc;
    for (const { type } of sources) {
      for (const destinationId of destinationIds) {
        lanes.get(type)?.push({ subscriptionId: text(row, 'id'), destinationId });
      }
    }
  }
  return lanes;
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const VALUES = new Map(Array.from(ALPHABET, (character, value) => [character.charCodeAt(0), value]));
/** The start of a KSUID: its time. */
const TIME_LENGTH = 9;
const RANDOM_LENGTH = 18;
const PREFIX = 'evd_';

/**
 * Ids of a lane's deliveries, derived from their events' ids, since a transaction has no id generator: the same prefix,
 * so that ids keep their order, and the rest shifted by digits specific to the lane. So a lane never creates an id
 * twice, and two lanes collide only as often as two KSUIDs.
 */
export function deliveryIds(lane: LaneKey): (eventId: string) => string {
  const shifts = createHash('sha256').update(laneText(lane)).digest().subarray(0, RANDOM_LENGTH);
  return (eventId) => {
    const ksuid = eventId.slice(eventId.indexOf('_') + 1).padEnd(TIME_LENGTH + RANDOM_LENGTH, '0');
    let id = `${PREFIX}${ksuid.slice(0, TIME_LENGTH)}`;
    for (const [at, shift] of shifts.entries()) {
      const value = VALUES.get(ksuid.charCodeAt(TIME_LENGTH + at)) ?? 0;
      id += ALPHABET.charAt((value + shift) % ALPHABET.length);
    }
    return id;
  };
}

/** Above the ids of all deliveries of the same age, such as the others of its event; below those of younger ones. */
export function endOfSameAge(deliveryId: string): string {
  return `${deliveryId.slice(0, PREFIX.length + TIME_LENGTH)}~`;
}
