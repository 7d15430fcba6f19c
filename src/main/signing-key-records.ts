import type { SigningKeyRecords } from '../modules/module-runtime.ts';
import { addSealedRecord } from '../replica/add-sealed-record.ts';
import type { Replica } from '../replica/replica.ts';
import type { Store } from '../store/store.ts';

const KIND = 'signing_key';
const FIELD = '/private_key';

/** Keys that sign for upstreams, stored like any secret: sealed at rest, in backups, shared by all processes. */
export function signingKeyRecords(store: Store, replica: Replica): SigningKeyRecords {
  return {
    list: () =>
      [...replica.all(KIND)]
        .map((record) => ({
          id: record.id,
          createdAtMs: record.doc['created_at_ms'] as number,
          privateKey: JSON.parse(record.secrets?.[FIELD] ?? '""') as string,
        }))
        .sort((a, b) => b.createdAtMs - a.createdAtMs),
    add: ({ id, createdAtMs, privateKey: secret }) =>
      addSealedRecord(store, replica, { kind: KIND, id, doc: { created_at_ms: createdAtMs }, field: FIELD, secret }),
    remove: async (id) => {
      await store.commit({ deletes: [{ kind: KIND, id }] });
    },
  };
}
