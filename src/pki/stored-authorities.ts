import { addSealedRecord } from '../replica/add-sealed-record.ts';
import type { Replica } from '../replica/replica.ts';
import type { Store } from '../store/store.ts';
import type { AuthorityRecords } from './authority-records.ts';

/** The kind of the record of the authority that only nodes trust. */
export const PEER_AUTHORITY_KIND = 'peer_authority';

const FIELD = '/private_key';

/** Kept like any secret: sealed at rest, in backups, the same for all processes. */
export function storedAuthorities(store: Store, replica: Replica, kind: string): AuthorityRecords {
  return {
    get: (id) => {
      const record = replica.get(kind, id);
      if (record === undefined) return null;
      return {
        certificatePem: record.doc['certificate'] as string,
        privateKeyPem: JSON.parse(record.secrets?.[FIELD] ?? '""') as string,
      };
    },
    add: (id, { certificatePem: certificate, privateKeyPem: secret }) =>
      addSealedRecord(store, replica, { kind, id, doc: { certificate }, field: FIELD, secret }),
  };
}
