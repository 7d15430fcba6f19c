import type { JsonObject } from '../../kit/json.ts';
import type {
  ClaimKey,
  ClaimOutcome,
  FeedPosition,
  Heartbeat,
  MoveOutcome,
  NodeStore,
  StoredClaim,
  StoredNode,
  StoredSession,
} from '../node-store.ts';
import { parseObject } from './seal.ts';
import type { SqlEngine } from './sql-engine.ts';
import {
  type CallerTime,
  execute,
  executeForTuples,
  insertRows,
  integer,
  nowExpression,
  type Program,
  queryOne,
  type Row,
  type Statement,
  statement,
  storeNowMs,
  type TimeAt,
  text,
} from './statement.ts';

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
function* heartbeatNode(node: BeatingNode, leaseMs: number, time: CallerTime): Program<Heartbeat> {
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
  const hadExpired = integer(row, 'lease_before_ms') <= nowMs;
  return { nowMs, nodes: nodes.map(nodeOf), hadExpired, position: positionOf(row) };
}

function* renewNodeFor(id: string, leaseMs: number, time: CallerTime): Program<Heartbeat> {
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
  return { nowMs, nodes, hadExpired: renewed === undefined, position: positionOf(at) };
}

function* listNodes(time: CallerTime): Program<Pick<Heartbeat, 'nowMs' | 'nodes'>> {
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
function* removeNode(id: string): Program<void> {
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

/** What is left of a node's lease: 0 or less when it has ended, also for a node that is gone. */
function* leaseLeftMs(nodeId: string, nowMs: number): Program<number> {
  const row = yield* queryOne('SELECT lease_ends_at_ms FROM nodes WHERE id = ?', [nodeId]);
  return row === null ? 0 : integer(row, 'lease_ends_at_ms') - nowMs;
}

/**
 * How long `byNodeId` has to wait before it may take over what another node has: 0 or less when it may. The other
 * lease must have ended, and its own must be as old as a lease is long: after an outage of the database all have ended,
 * and every node that is alive gets the time to renew its own first.
 *
 * A renewal may be in progress that this transaction does not see: the update waits for it, and holds back later ones
 * until this transaction has committed. Such a renewal then finds a lease that had ended.
 */
function* takeoverWaitMs(fromNodeId: string, byNodeId: string, nowMs: number): Program<number> {
  const own = yield* queryOne(
    'SELECT unbroken_since_ms + lease_ends_at_ms - last_seen_at_ms AS settled_at_ms FROM nodes WHERE id = ?',
    [byNodeId],
  );
  const settlesInMs = own === null ? 0 : integer(own, 'settled_at_ms') - nowMs;
  const leftMs = yield* leaseLeftMs(fromNodeId, nowMs);
  if (leftMs > 0 || settlesInMs > 0) return Math.max(leftMs, settlesInMs);
  yield* queryOne('UPDATE nodes SET status = status WHERE id = ? AND lease_ends_at_ms <= ? RETURNING id', [
    fromNodeId,
    nowMs,
  ]);
  return yield* leaseLeftMs(fromNodeId, nowMs);
}

/**
 * The next epoch. At least the time: a database that failed over to a lagging server must not hand out epochs again
 * that nodes have seen. Under the writers' lock.
 */
function* nextEpoch(nowMs: number): Program<number> {
  const row = yield* queryOne(
    "UPDATE counter SET value = CASE WHEN value < ? THEN ? ELSE value + 1 END WHERE name = 'node_epoch' RETURNING value",
    [nowMs, nowMs],
  );
  if (row === null) throw new Error('the store has lost the counter of epochs');
  return integer(row, 'value');
}

const CLAIM_COLUMNS = 'key, session_id, credential_id, node_id, epoch';

function claimOf(row: Row): StoredClaim {
  return {
    key: text(row, 'key'),
    sessionId: text(row, 'session_id'),
    credentialId: text(row, 'credential_id'),
    nodeId: text(row, 'node_id'),
    epoch: integer(row, 'epoch'),
  };
}

/** All claims and moves hold the writers' lock. The time is read first, so a lease seems longer, never shorter. */
function* claimKey(claim: Omit<StoredClaim, 'epoch'>, time: CallerTime): Program<ClaimOutcome> {
  const { key, sessionId, credentialId, nodeId } = claim;
  const nowMs = yield* storeNowMs(time);
  if ((yield* leaseLeftMs(nodeId, nowMs)) <= 0) return { ok: false, holder: null, leaseLeftMs: 0 };
  const holder = yield* readClaim(key);
  if (holder !== null) {
    if (holder.sessionId === sessionId && holder.nodeId === nodeId) return { ok: true, epoch: holder.epoch };
    const waitMs = yield* takeoverWaitMs(holder.nodeId, nodeId, nowMs);
    if (waitMs > 0) return { ok: false, holder, leaseLeftMs: waitMs };
  }
  const epoch = yield* nextEpoch(nowMs);
  yield* execute(
    `INSERT INTO node_claims (${CLAIM_COLUMNS}) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET session_id = excluded.session_id, credential_id = excluded.credential_id,
        node_id = excluded.node_id, epoch = excluded.epoch`,
    [key, sessionId, credentialId, nodeId, epoch],
  );
  return { ok: true, epoch };
}

function* readClaim(key: ClaimKey): Program<StoredClaim | null> {
  const row = yield* queryOne(`SELECT ${CLAIM_COLUMNS} FROM node_claims WHERE key = ?`, [key]);
  return row === null ? null : claimOf(row);
}

function* releaseClaims(
  { sessionId, nodeId }: Pick<StoredClaim, 'sessionId' | 'nodeId'>,
  keys: readonly ClaimKey[],
): Program<void> {
  yield* executeForTuples(
    'DELETE FROM node_claims WHERE (key, session_id, node_id) IN (VALUES %s)',
    keys.map((key) => [key, sessionId, nodeId]),
  );
}

function* listClaimsOf(nodeId: string): Program<StoredClaim[]> {
  const rows = yield statement(`SELECT ${CLAIM_COLUMNS} FROM node_claims WHERE node_id = ? ORDER BY key`, [nodeId]);
  return rows.map(claimOf);
}

const SESSION_COLUMNS = 'id, node_id, credential_id, epoch, doc';

function sessionOf(row: Row): StoredSession {
  return {
    id: text(row, 'id'),
    nodeId: text(row, 'node_id'),
    credentialId: text(row, 'credential_id'),
    epoch: integer(row, 'epoch'),
    doc: parseObject(text(row, 'doc')),
  };
}

function* readNodeSession(id: string): Program<StoredSession | null> {
  const row = yield* queryOne(`SELECT ${SESSION_COLUMNS} FROM node_sessions WHERE id = ?`, [id]);
  return row === null ? null : sessionOf(row);
}

function* listSessionsOf(nodeId: string): Program<StoredSession[]> {
  const rows = yield statement(`SELECT ${SESSION_COLUMNS} FROM node_sessions WHERE node_id = ? ORDER BY id`, [nodeId]);
  return rows.map(sessionOf);
}

function* putNodeSession(
  { id, nodeId, credentialId, doc }: Omit<StoredSession, 'epoch'>,
  knownEpoch: number | null,
  time: CallerTime,
): Program<{ readonly epoch: number } | null> {
  const found = yield* readNodeSession(id);
  if (found === null) {
    if (knownEpoch !== null) return null;
    const epoch = yield* nextEpoch(yield* storeNowMs(time));
    const values = [id, nodeId, credentialId, epoch, JSON.stringify(doc)];
    yield* execute(`INSERT INTO node_sessions (${SESSION_COLUMNS}) VALUES (?, ?, ?, ?, ?)`, values);
    return { epoch };
  }
  if (found.nodeId !== nodeId || (knownEpoch !== null && found.epoch !== knownEpoch)) return null;
  const values = [credentialId, JSON.stringify(doc), id];
  yield* execute('UPDATE node_sessions SET credential_id = ?, doc = ? WHERE id = ?', values);
  return { epoch: found.epoch };
}

function* moveNodeSession(
  { id, fromEpoch, toNodeId, handedOverBy }: SessionMove,
  time: CallerTime,
): Program<MoveOutcome> {
  const nowMs = yield* storeNowMs(time);
  const found = yield* readNodeSession(id);
  if (found === null) return { ok: false, reason: 'absent', leaseLeftMs: 0 };
  if (found.epoch !== fromEpoch) {
    return { ok: false, reason: 'moved', leaseLeftMs: yield* leaseLeftMs(found.nodeId, nowMs) };
  }
  if (found.nodeId === toNodeId) return { ok: true, session: found };
  if (found.nodeId !== handedOverBy) {
    const waitMs = yield* takeoverWaitMs(found.nodeId, toNodeId, nowMs);
    if (waitMs > 0) return { ok: false, reason: 'held', leaseLeftMs: waitMs };
  }
  const epoch = yield* nextEpoch(nowMs);
  yield* execute('UPDATE node_sessions SET node_id = ?, epoch = ? WHERE id = ?', [toNodeId, epoch, id]);
  yield* execute('UPDATE node_claims SET node_id = ?, epoch = ? WHERE session_id = ?', [toNodeId, epoch, id]);
  return { ok: true, session: { ...found, nodeId: toNodeId, epoch } };
}

export interface SessionMove {
  readonly id: string;
  readonly fromEpoch: number;
  readonly toNodeId: string;
  readonly handedOverBy: string | null;
}

function* removeNodeSession(id: string, nodeId: string): Program<void> {
  const removed = yield* queryOne('DELETE FROM node_sessions WHERE id = ? AND node_id = ? RETURNING id', [id, nodeId]);
  if (removed !== null) yield* execute('DELETE FROM node_claims WHERE session_id = ?', [id]);
}

type Agreement = Readonly<Record<string, string>>;

/**
 * Compares with what the other nodes agreed on. Without other nodes the values of this one replace it. Under the
 * writers' lock: of two nodes that start together, one is first.
 */
function* agreeOnFacts(nodeId: string, facts: Agreement, time: CallerTime): Program<Agreement> {
  const count = statement(
    `SELECT count(*) AS others FROM nodes WHERE id <> ? AND has_agreed = 1 AND lease_ends_at_ms > ${nowExpression(time)}`,
    [nodeId],
  );
  const [others, ...rows] = yield { ...count, also: [statement('SELECT name, value FROM node_agreements')] };
  const isAlone = others === undefined || integer(others, 'others') === 0;
  if (isAlone) yield* execute('DELETE FROM node_agreements');
  const agreed = new Map(isAlone ? [] : rows.map((row) => [text(row, 'name'), text(row, 'value')]));
  const names = Object.keys(facts);
  const differing = names.filter((name) => agreed.has(name) && agreed.get(name) !== facts[name]);
  if (differing.length > 0) return Object.fromEntries(differing.map((name) => [name, agreed.get(name) ?? '']));
  const added = names.filter((name) => !agreed.has(name)).map((name) => [name, facts[name] ?? '']);
  yield* insertRows('node_agreements', ['name', 'value'], added);
  yield* execute('UPDATE nodes SET has_agreed = 1 WHERE id = ?', [nodeId]);
  return {};
}

/** What the directory of nodes asks of the engine. */
export const nodePrograms = {
  heartbeatNode,
  renewNodeFor,
  removeNode,
  listNodes,
  agreeOnFacts,
  claimKey,
  releaseClaims,
  readClaim,
  listClaimsOf,
  putNodeSession,
  readNodeSession,
  moveNodeSession,
  removeNodeSession,
  listSessionsOf,
} as const;

export function createNodeStore(engine: SqlEngine<typeof nodePrograms>, timeAt: TimeAt): NodeStore {
  return {
    heartbeat: (node, leaseMs) => engine.writeUrgently('heartbeatNode', node, leaseMs, timeAt()),
    renewFor: (nodeId, leaseMs) => engine.writeUrgently('renewNodeFor', nodeId, leaseMs, timeAt()),
    leave: (nodeId) => engine.write('removeNode', nodeId),
    list: () => engine.read('listNodes', timeAt()),
    agree: (nodeId, facts) => engine.write('agreeOnFacts', nodeId, facts, timeAt()),
    claim: (claim) => engine.write('claimKey', claim, timeAt()),
    release: (owner, keys) => engine.write('releaseClaims', owner, keys),
    getClaim: (key) => engine.read('readClaim', key),
    claimsOf: (nodeId) => engine.read('listClaimsOf', nodeId),
    putSession: (session, knownEpoch) => engine.write('putNodeSession', session, knownEpoch ?? null, timeAt()),
    getSession: (id) => engine.read('readNodeSession', id),
    moveSession: (id, fromEpoch, toNodeId, handedOverBy) =>
      engine.write('moveNodeSession', { id, fromEpoch, toNodeId, handedOverBy: handedOverBy ?? null }, timeAt()),
    removeSession: (id, nodeId) => engine.write('removeNodeSession', id, nodeId),
    sessionsOf: (nodeId) => engine.read('listSessionsOf', nodeId),
  };
}
