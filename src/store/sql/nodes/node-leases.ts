import { integer, type Program, queryOne } from '../statements/statement.ts';

/** What is left of a node's lease: 0 or less when it has ended, also for a node that is gone. */
export function* leaseLeftMs(nodeId: string, nowMs: number): Program<number> {
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
export function* takeoverWaitMs(fromNodeId: string, byNodeId: string, nowMs: number): Program<number> {
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
export function* nextEpoch(nowMs: number): Program<number> {
  const row = yield* queryOne(
    "UPDATE counter SET value = CASE WHEN value < ? THEN ? ELSE value + 1 END WHERE name = 'node_epoch' RETURNING value",
    [nowMs, nowMs],
  );
  if (row === null) throw new Error('the store has lost the counter of epochs');
  return integer(row, 'value');
}
