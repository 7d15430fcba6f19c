import type { DeliveryFilter } from '../../store.ts';
import {
  integer,
  type Program,
  queryForTuples,
  type Row,
  type Statement,
  statement,
  text,
} from '../statements/statement.ts';
import { insertPending } from './delivery-enqueue.ts';
import { readBySeq, sequencesOf } from './delivery-sequences.ts';

export interface Replay {
  readonly id: string;
  readonly newId: string;
}

export interface ReplayableId {
  readonly id: string;
  readonly seq: number;
  readonly type: string;
}

export interface ReplayCursor {
  readonly afterSeq: number;
  /** A replay matches most filters itself, and must not be replayed in turn. */
  readonly upToSeq: number;
  readonly limit: number;
}

/** Oldest first: replayed in this order, a lane stays in order. */
export function* listReplayable(filter: DeliveryFilter, cursor: ReplayCursor): Program<ReplayableId[]> {
  const sequences = yield* sequencesOf(filter, [
    { sql: 'seq > ?', param: cursor.afterSeq },
    { sql: 'seq <= ?', param: cursor.upToSeq },
  ]);
  const rows = yield* readBySeq(sequences, { order: 'ASC', limit: cursor.limit, select: withTypes });
  return rows.map((row) => ({ id: text(row, 'id'), seq: integer(row, 'seq'), type: text(row, 'type') }));
}

function withTypes(page: Statement): Statement {
  return statement(
    `SELECT page.id AS id, seq, type FROM (${page.sql}) AS page JOIN events ON events.id = page.event_id ORDER BY seq`,
    page.params,
  );
}

/**
 * Returns, in the given order, which became a new delivery; a lane whose subscription no longer sends there is closed.
 */
export function* replayDeliveries(
  replays: readonly Replay[],
  nowMs: number,
): Program<('replayed' | 'closed' | 'absent')[]> {
  const rows = yield* queryForTuples(
    `SELECT id, subscription_id, destination_id, event_id,
      EXISTS (SELECT 1 FROM record_references WHERE from_kind = 'event_subscription' AND from_id = subscription_id
        AND to_kind = 'event_destination' AND to_id = destination_id) AS is_open
    FROM event_deliveries WHERE id IN (VALUES %s)`,
    replays.map(({ id }) => [id]),
  );
  const found = new Map(rows.map((row) => [text(row, 'id'), row]));
  const answers = replays.map(({ id, newId }) => ({ newId, row: found.get(id) }));
  yield* insertPending(
    answers.flatMap(({ newId, row }) => {
      if (row === undefined || !isOpen(row)) return [];
      return [
        {
          id: newId,
          subscriptionId: text(row, 'subscription_id'),
          destinationId: text(row, 'destination_id'),
          eventId: text(row, 'event_id'),
          createdAtMs: nowMs,
        },
      ];
    }),
  );
  return answers.map(({ row }) => (row === undefined ? 'absent' : isOpen(row) ? 'replayed' : 'closed'));
}

/** A boolean in PostgreSQL, a number in SQLite. */
function isOpen(row: Row): boolean {
  return Boolean(row['is_open']);
}
