import type { NodeStore } from '../../node-store.ts';
import type { SqlEngine } from '../sql-engine.ts';
import type { TimeAt } from '../statements/store-time.ts';

export function createNodeStore(engine: SqlEngine, timeAt: TimeAt): NodeStore {
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
