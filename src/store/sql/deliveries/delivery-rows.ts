import type { Delivery, DeliveryFilter, DeliveryState, LaneKey, PageQuery, PendingDelivery } from '../../store.ts';
import { readCounter } from '../records/record-rows.ts';
import type { SealedEvent } from '../seal.ts';
import {
  type Condition,
  insertRows,
  integer,
  integerOrNull,
  type Program,
  pageStatement,
  queryOne,
  type Row,
  type SqlValue,
  type Statement,
  statement,
  text,
  whereSql,
} from '../statement.ts';
import { endOfSameAge } from './lane-rows.ts';

export interface DeliveryRow extends Omit<Delivery, 'event' | 'attempts'> {
  readonly event: SealedEvent;
  readonly attempts: string;
}

export interface PendingRow extends Omit<PendingDelivery, 'event' | 'attempts'> {
  readonly event: SealedEvent;
  readonly attempts: string;
}

const DELIVERED_EVENT_COLUMNS = 'event_id, type, events.created_at_ms AS event_created_at_ms, payload';

/**
 * Adds event columns to a page of deliveries. The join happens after paging: a planner without statistics would join
 * whole tables first (seen: 300 ms instead of 3 for 60,000 rows on PostgreSQL).
 */
function withEvents(page: Statement): Statement {
  return statement(
    `SELECT page.id AS id, seq, page.subscription_id AS subscription_id, page.destination_id AS destination_id, state, attempts,
      page.created_at_ms AS created_at_ms, ${DELIVERED_EVENT_COLUMNS},
      CASE WHEN state = 'pending' AND is_held = 0 THEN next_attempt_at_ms END AS lane_due_ms
    FROM (${page.sql}) AS page
    JOIN events ON events.id = page.event_id
    JOIN event_lanes ON event_lanes.subscription_id = page.subscription_id
      AND event_lanes.destination_id = page.destination_id
    ORDER BY page.seq DESC`,
    page.params,
  );
}

function deliveryOf(row: Row): DeliveryRow {
  const laneDueMs = integerOrNull(row, 'lane_due_ms');
  const createdAtMs = integer(row, 'created_at_ms');
  return {
    id: text(row, 'id'),
    subscriptionId: text(row, 'subscription_id'),
    destinationId: text(row, 'destination_id'),
    event: deliveredEvent(row),
    state: text(row, 'state') as DeliveryState,
    attempts: text(row, 'attempts'),
    createdAtMs,
    nextAttemptAtMs: laneDueMs === null ? null : Math.max(laneDueMs, createdAtMs),
  };
}

function deliveredEvent(row: Row): SealedEvent {
  return {
    id: text(row, 'event_id'),
    type: text(row, 'type'),
    createdAtMs: integer(row, 'event_created_at_ms'),
    payload: text(row, 'payload'),
  };
}

export function* getDelivery(id: string): Program<DeliveryRow | null> {
  const [row] = yield withEvents(statement('SELECT * FROM event_deliveries WHERE id = ?', [id]));
  return row === undefined ? null : deliveryOf(row);
}

/** Most recently enqueued first. */
export function* listDeliveries(filter: DeliveryFilter, { beforeId, limit }: PageQuery): Program<DeliveryRow[]> {
  const before = beforeId === null ? [] : [{ sql: 'seq < ?', param: yield* seqAbove(beforeId) }];
  const sequences = yield* sequencesOf(filter, before);
  const rows = yield* readBySeq(sequences, { order: 'DESC', limit, select: withEvents });
  return rows.map(deliveryOf);
}

/** More than an event has deliveries in most stores, and cheap. */
const NEIGHBORS = 1_000;

/**
 * The event's own number. If the event has been pruned, a number above all of the same age or older: an event's other
 * deliveries may then be shown again, but none is hidden.
 */
function* seqAbove(id: string): Program<number> {
  const own = yield* queryOne('SELECT seq FROM event_deliveries WHERE id = ?', [id]);
  if (own !== null) return integer(own, 'seq');
  const row = yield* queryOne(
    `SELECT max(seq) AS seq FROM (SELECT seq FROM event_deliveries WHERE id < ? ORDER BY id DESC LIMIT ${NEIGHBORS}) AS near`,
    [endOfSameAge(id)],
  );
  return (row === null ? 0 : (integerOrNull(row, 'seq') ?? 0)) + 1;
}

/** The oldest pending deliveries of a lane, in order. */
export function* readHead({ subscriptionId, destinationId }: LaneKey, limit: number): Program<PendingRow[]> {
  const rows = yield statement(
    `SELECT head.id AS id, attempts, refusals, head.created_at_ms AS created_at_ms, ${DELIVERED_EVENT_COLUMNS}
    FROM (
      SELECT * FROM event_deliveries WHERE subscription_id = ? AND destination_id = ? AND state = 'pending'
      ORDER BY seq LIMIT ?
    ) AS head
    JOIN events ON events.id = head.event_id ORDER BY seq`,
    [subscriptionId, destinationId, limit],
  );
  return rows.map((row) => ({
    id: text(row, 'id'),
    event: deliveredEvent(row),
    attempts: text(row, 'attempts'),
    refusals: integer(row, 'refusals'),
    createdAtMs: integer(row, 'created_at_ms'),
  }));
}

/** Lane by lane, using the index of lanes. */
export function* listPendingTypes(destinationId: string): Program<string[]> {
  const lanes = yield statement('SELECT subscription_id FROM event_lanes WHERE destination_id = ?', [destinationId]);
  const types = new Set<string>();
  for (const lane of lanes) {
    const rows = yield statement(
      `SELECT DISTINCT type FROM event_deliveries JOIN events ON events.id = event_id
      WHERE subscription_id = ? AND destination_id = ? AND state = 'pending'`,
      [text(lane, 'subscription_id'), destinationId],
    );
    for (const row of rows) types.add(text(row, 'type'));
  }
  return [...types].sort();
}

export function* readDeliverySeq(): Program<number> {
  return yield* readCounter('delivery_seq');
}

/** Deliveries that an index returns in the order of `seq`: all of them, or those of one lane in one state. */
type Sequence = readonly Condition[];

interface SequenceQuery {
  readonly order: 'ASC' | 'DESC';
  readonly limit: number;
  /** Columns to read; they must include `seq`. */
  select(page: Statement): Statement;
}

const STATES = ['pending', 'delivered', 'dead', 'cancelled'] as const;
/** Below SQLite's limit of 500 compound terms, and easy for a planner. */
const SEQUENCES_PER_STATEMENT = 100;

/**
 * One index, on lane, state and `seq`, serves every filter: there are few lanes, and each has its deliveries in order.
 * An index per filter would be written with every event, for lists that are read only occasionally.
 */
export function* sequencesOf(filter: DeliveryFilter, further: readonly Condition[]): Program<Sequence[]> {
  const { subscriptionId, destinationId, state } = filter;
  const rest = [...further, ...timesOf(filter)];
  const lane: Condition[] = [];
  if (subscriptionId !== undefined) lane.push({ sql: 'subscription_id = ?', param: subscriptionId });
  if (destinationId !== undefined) lane.push({ sql: 'destination_id = ?', param: destinationId });
  if (lane.length === 0 && state === undefined) return [rest];
  const lanes = yield statement(
    `SELECT subscription_id, destination_id FROM event_lanes${whereSql(lane)} ORDER BY subscription_id, destination_id`,
    lane.map(({ param }) => param),
  );
  return lanes.flatMap((row) =>
    (state === undefined ? STATES : [state]).map((each) => [
      { sql: 'subscription_id = ?', param: text(row, 'subscription_id') },
      { sql: 'destination_id = ?', param: text(row, 'destination_id') },
      { sql: 'state = ?', param: each },
      ...rest,
    ]),
  );
}

function timesOf({ sinceMs, untilMs }: DeliveryFilter): Condition[] {
  const times: Condition[] = [];
  if (sinceMs !== undefined) times.push({ sql: 'created_at_ms >= ?', param: sinceMs });
  if (untilMs !== undefined) times.push({ sql: 'created_at_ms < ?', param: untilMs });
  return times;
}

/** The first `limit` of all sequences merged, in order. */
export function* readBySeq(sequences: readonly Sequence[], query: SequenceQuery): Program<Row[]> {
  const found: Row[] = [];
  for (let at = 0; at < sequences.length; at += SEQUENCES_PER_STATEMENT) {
    found.push(...(yield query.select(pageOf(sequences.slice(at, at + SEQUENCES_PER_STATEMENT), query))));
  }
  const sign = query.order === 'ASC' ? 1 : -1;
  return found.sort((one, other) => sign * (integer(one, 'seq') - integer(other, 'seq'))).slice(0, query.limit);
}

function pageOf(sequences: readonly Sequence[], { order, limit }: SequenceQuery): Statement {
  const end = `ORDER BY seq ${order} LIMIT ?`;
  const parts = sequences.map(
    (each) => `SELECT * FROM (SELECT * FROM event_deliveries${whereSql(each)} ${end}) AS part`,
  );
  const params = sequences.flatMap((each) => [...each.map(({ param }) => param), limit]);
  return statement(`${parts.join(' UNION ALL ')} ${end}`, [...params, limit]);
}

const EVENT_COLUMNS = 'id, type, created_at_ms, payload';

function eventOf(row: Row): SealedEvent {
  return {
    id: text(row, 'id'),
    type: text(row, 'type'),
    createdAtMs: integer(row, 'created_at_ms'),
    payload: text(row, 'payload'),
  };
}

export function* listEvents(query: PageQuery): Program<SealedEvent[]> {
  const rows = yield pageStatement(`SELECT ${EVENT_COLUMNS} FROM events`, [], query);
  return rows.map(eventOf);
}

export function* getEvent(id: string): Program<SealedEvent | null> {
  const row = yield* queryOne(`SELECT ${EVENT_COLUMNS} FROM events WHERE id = ?`, [id]);
  return row === null ? null : eventOf(row);
}

export function* countEvents(): Program<number> {
  const row = yield* queryOne('SELECT count(*) AS total FROM events');
  return row === null ? 0 : integer(row, 'total');
}

/** As `eventRows` creates them. */
export function* insertEvents(rows: readonly (readonly SqlValue[])[]): Program<void> {
  yield* insertRows('events', ['id', 'type', 'revision', 'position', 'created_at_ms', 'payload'], rows);
}

/** Revision 0 marks events without a configuration change. */
export function eventRows(events: readonly SealedEvent[], revision: number): SqlValue[][] {
  return events.map(({ id, type, createdAtMs, payload }, at) => [id, type, revision, at, createdAtMs, payload]);
}
