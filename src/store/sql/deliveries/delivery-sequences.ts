import type { DeliveryFilter } from '../../store.ts';
import { type Condition, whereSql } from '../statements/page-statement.ts';
import { integer, type Program, type Row, type Statement, statement, text } from '../statements/statement.ts';

/** Deliveries that an index returns in the order of `seq`: all of them, or those of one lane in one state. */
type Sequence = readonly Condition[];

export interface SequenceQuery {
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
