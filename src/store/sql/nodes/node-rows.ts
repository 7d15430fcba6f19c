import type { JsonObject } from '../../../lib/json.ts';
import type { FeedPosition, Heartbeat, StoredNode } from '../../node-store.ts';
import { parseObject } from '../sealing/seal.ts';
import { execute, integer, type Program, type Row, type Statement, statement, text } from '../statements/statement.ts';
import { type CallerTime, nowExpression, storeNowMs } from '../statements/store-time.ts';

export interface BeatingNode {
  readonly id: string;
  readonly status: StoredNode['status'];
  readonly startedAtMs: number;
  readonly doc: JsonObject;
}

/** Lost nodes are listed this long. */
const KEPT_MS = 600_000;
/** A node that crashes in a loop leaves a row with every start; the latest ones are enough. */
const MAX_LISTED = 256;

const POSITION = `(SELECT value FROM counter WHERE name = 'revision') AS revision,
        (SELECT value FROM counter WHERE name = 'app_session_seq') AS login_seq`;

/**
 * One statement judges the old lease and extends it, under the row's lock: a claim that found the lease ended has
 * committed before, and no later one can. Everything goes to the database in one round trip: it may be far away.
 */
export function* heartbeatNode(node: BeatingNode, leaseMs: number, time: CallerTime): Program<Heartbeat> {
  const now = nowExpression(time);
  const upsert = statement(
    `INSERT INTO nodes (id, status, started_at_ms, last_seen_at_ms, lease_before_ms, unbroken_since_ms,
        lease_ends_at_ms, has_agreed, doc)
      VALUES (?, ?, ?, ${now}, 0, ${now}, ${now} + ?, 0, ?)
      ON CONFLICT (id) DO UPDATE SET status = excluded.status, doc = excluded.doc,
        lease_before_ms = nodes.lease_ends_at_ms, last_seen_at_ms = ${now}, lease_ends_at_ms = ${now} + ?,
        unbroken_since_ms = CASE WHEN nodes.lease_ends_at_ms > ${now} THEN nodes.unbroken_since_ms ELSE ${now} END
      RETURNING lease_before_ms, last_seen_at_ms, ${POSITION}`,
    [node.id, node.status, node.startedAtMs, leaseMs, JSON.stringify(node.doc), leaseMs],
  );
  const [row, ...nodes] = yield { ...upsert, also: [nodesAt(now)], isLast: true };
  if (row === undefined) throw new Error('the upsert of a node returned no row');
  const nowMs = integer(row, 'last_seen_at_ms');
  const hadLapsed = integer(row, 'lease_before_ms') <= nowMs;
  return { nowMs, nodes: nodes.map(nodeOf), hadLapsed, position: positionOf(row) };
}

export function* renewNodeFor(id: string, leaseMs: number, time: CallerTime): Program<Heartbeat> {
  const now = nowExpression(time);
  const update = statement(
    `UPDATE nodes SET lease_before_ms = lease_ends_at_ms, last_seen_at_ms = ${now}, lease_ends_at_ms = ${now} + ?
      WHERE id = ? AND lease_ends_at_ms > ${now} RETURNING last_seen_at_ms AS renewed_at_ms`,
    [leaseMs, id],
  );
  const position = statement(`SELECT ${now} AS now_ms, ${POSITION}`);
  const rows = yield { ...update, also: [position, nodesAt(now)], isLast: true };
  const renewed = rows.find((row) => 'renewed_at_ms' in row);
  const at = rows.find((row) => 'now_ms' in row);
  if (at === undefined) throw new Error('a SELECT without a table returned no row');
  const nowMs = integer(renewed ?? at, renewed === undefined ? 'now_ms' : 'renewed_at_ms');
  const nodes = rows.filter((row) => 'doc' in row).map(nodeOf);
  return { nowMs, nodes, hadLapsed: renewed === undefined, position: positionOf(at) };
}

export function* listNodes(time: CallerTime): Program<Pick<Heartbeat, 'nowMs' | 'nodes'>> {
  const nowMs = yield* storeNowMs(time);
  return { nowMs, nodes: (yield nodesAt(nowExpression(time))).map(nodeOf) };
}

function nodesAt(now: string): Statement {
  return statement(
    `SELECT id, status, started_at_ms, last_seen_at_ms, lease_ends_at_ms, doc FROM nodes
      WHERE has_agreed = 1 AND lease_ends_at_ms > ${now} - ${KEPT_MS} ORDER BY lease_ends_at_ms DESC, id LIMIT ${MAX_LISTED}`,
  );
}

function positionOf(row: Row): FeedPosition {
  return { revision: integer(row, 'revision'), loginSeq: integer(row, 'login_seq') };
}

function nodeOf(row: Row): StoredNode {
  return {
    id: text(row, 'id'),
    status: text(row, 'status') as StoredNode['status'],
    startedAtMs: integer(row, 'started_at_ms'),
    lastSeenAtMs: integer(row, 'last_seen_at_ms'),
    leaseEndsAtMs: integer(row, 'lease_ends_at_ms'),
    doc: parseObject(text(row, 'doc')),
  };
}

/** A node that left is not listed as lost. */
export function* removeNode(id: string): Program<void> {
  yield* execute('DELETE FROM nodes WHERE id = ?', [id]);
  yield* removeOwned(id);
}

function* removeOwned(nodeId: string): Program<void> {
  yield* execute('DELETE FROM node_claims WHERE node_id = ?', [nodeId]);
  yield* execute('DELETE FROM node_sessions WHERE node_id = ?', [nodeId]);
}

export function* pruneNodes(time: CallerTime): Program<void> {
  const lastMs = (yield* storeNowMs(time)) - KEPT_MS;
  const rows = yield statement('DELETE FROM nodes WHERE lease_ends_at_ms <= ? RETURNING id', [lastMs]);
  for (const row of rows) yield* removeOwned(text(row, 'id'));
}
