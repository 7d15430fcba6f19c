import type { NodeStore } from '../node-store.ts';
import type { Lease, PresenceStore } from '../store.ts';
import type { LeaseRow } from './lease-rows.ts';
import { parseObject } from './seal.ts';
import type { SqlEngine } from './sql-engine.ts';
import type { TimeAt } from './statement.ts';

export function createPresenceStore(engine: SqlEngine, timeAt: TimeAt): PresenceStore {
  return {
    put: (leases) => engine.write('putLeases', leases.map(rowOf), timeAt()),
    renew: (bootId, expiresAtMs) => engine.write('renewLeases', bootId, expiresAtMs, timeAt()),
    remove: (keys) => engine.write('removeLeases', keys),
    removeByCredential: (credentialId) => engine.write('removeLeasesByCredential', credentialId),
    removeOtherBoots: (bootId) => engine.write('removeLeasesOfOtherBoots', bootId),
    onReset: (relist) => engine.history.onReset(relist),
    get: async (kind, id, nowMs) => {
      const row = await engine.read('getLease', kind, id, timeAt(nowMs));
      return row === null ? null : leaseOf(row);
    },
    list: async (kind, query) => (await engine.read('listLeases', kind, query, timeAt(query.nowMs))).map(leaseOf),
  };
}

function rowOf(lease: Lease): LeaseRow {
  return { ...lease, doc: JSON.stringify(lease.doc) };
}

function leaseOf(row: LeaseRow): Lease {
  return { ...row, doc: parseObject(row.doc) };
}

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
