import type { SigningKeyRecords } from '../modules/module-runtime.ts';
import type { Replica } from '../replica/replica.ts';
import type { Store } from '../store/store.ts';

const KIND = 'signing_key';
const FIELD = '/private_key';

/** Keys that sign for upstreams, kept like any secret: sealed at rest, in backups, the same for all processes. */
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
    add: async ({ id, createdAtMs, privateKey }) => {
      // A refusal says that another process was first: its key is in the replica once that has followed.
      await store.commit({
        expect: [{ kind: KIND, id, revision: 'absent' }],
        puts: [
          {
            kind: KIND,
            id,
            parent: null,
            doc: { created_at_ms: createdAtMs },
            secrets: { [FIELD]: JSON.stringify(privateKey) },
            uniqueKeys: [],
            references: [],
          },
        ],
      });
      await replica.refresh();
    },
    remove: async (id) => {
      await store.commit({ deletes: [{ kind: KIND, id }] });
    },
  };
}
