import { integer, type Program, queryOne } from '../statements/statement.ts';

/** What is left of a node's lease: 0 or less when it has ended, also for a node that is gone. */
export function* leaseLeftMs(nodeId: string, nowMs: number): Program<number> {
  const row = yield* queryOne('SELECT lease_ends_at_ms FROM nodes WHERE id = ?', [nodeId]);
  return row === null ? 0 : integer(row, 'lease_ends_at_ms') - nowMs;
}

/**
 * The same for a decision to take over. A renewal may be in progress that this transaction does not see: the update
 * waits for it, and holds back later ones until this transaction has committed. Such a renewal then finds a lease that
 * had ended.
 */
export function* settledLeaseLeftMs(nodeId: string, nowMs: number): Program<number> {
  const leftMs = yield* leaseLeftMs(nodeId, nowMs);
  if (leftMs > 0) return leftMs;
  yield* queryOne('UPDATE nodes SET status = status WHERE id = ? AND lease_ends_at_ms <= ? RETURNING id', [
    nodeId,
    nowMs,
  ]);
  return yield* leaseLeftMs(nodeId, nowMs);
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
