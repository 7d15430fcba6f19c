import type { Lease, PresenceStore } from '../../store.ts';
import { parseObject } from '../sealing/seal.ts';
import type { SqlEngine } from '../sql-engine.ts';
import type { TimeAt } from '../statements/store-time.ts';
import type { LeaseRow } from './lease-rows.ts';

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
