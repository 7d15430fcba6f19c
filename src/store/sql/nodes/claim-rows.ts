import type { ClaimKey, ClaimOutcome, StoredClaim } from '../../node-store.ts';
import {
  execute,
  executeForTuples,
  integer,
  type Program,
  queryOne,
  type Row,
  statement,
  text,
} from '../statements/statement.ts';
import { type CallerTime, storeNowMs } from '../statements/store-time.ts';
import { leaseLeftMs, nextEpoch, takeoverWaitMs } from './node-leases.ts';

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
export function* claimKey(claim: Omit<StoredClaim, 'epoch'>, time: CallerTime): Program<ClaimOutcome> {
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

export function* readClaim(key: ClaimKey): Program<StoredClaim | null> {
  const row = yield* queryOne(`SELECT ${CLAIM_COLUMNS} FROM node_claims WHERE key = ?`, [key]);
  return row === null ? null : claimOf(row);
}

export function* releaseClaims(
  { sessionId, nodeId }: Pick<StoredClaim, 'sessionId' | 'nodeId'>,
  keys: readonly ClaimKey[],
): Program<void> {
  yield* executeForTuples(
    'DELETE FROM node_claims WHERE (key, session_id, node_id) IN (VALUES %s)',
    keys.map((key) => [key, sessionId, nodeId]),
  );
}

export function* listClaimsOf(nodeId: string): Program<StoredClaim[]> {
  const rows = yield statement(`SELECT ${CLAIM_COLUMNS} FROM node_claims WHERE node_id = ? ORDER BY key`, [nodeId]);
  return rows.map(claimOf);
}
