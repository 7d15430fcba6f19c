import type { MoveOutcome, StoredSession } from '../../node-store.ts';
import { parseObject } from '../sealing/seal.ts';
import { execute, integer, type Program, queryOne, type Row, statement, text } from '../statements/statement.ts';
import { type CallerTime, storeNowMs } from '../statements/store-time.ts';
import { leaseLeftMs, nextEpoch, takeoverWaitMs } from './node-leases.ts';

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

export function* readNodeSession(id: string): Program<StoredSession | null> {
  const row = yield* queryOne(`SELECT ${SESSION_COLUMNS} FROM node_sessions WHERE id = ?`, [id]);
  return row === null ? null : sessionOf(row);
}

export function* listSessionsOf(nodeId: string): Program<StoredSession[]> {
  const rows = yield statement(`SELECT ${SESSION_COLUMNS} FROM node_sessions WHERE node_id = ? ORDER BY id`, [nodeId]);
  return rows.map(sessionOf);
}

export function* putNodeSession(
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

export function* moveNodeSession(
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

export function* removeNodeSession(id: string, nodeId: string): Program<void> {
  const removed = yield* queryOne('DELETE FROM node_sessions WHERE id = ? AND node_id = ? RETURNING id', [id, nodeId]);
  if (removed !== null) yield* execute('DELETE FROM node_claims WHERE session_id = ?', [id]);
}
