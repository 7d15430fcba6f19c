import type { ModuleRecords } from '../../contract/kept-records.ts';

export const SIGNING_KEY_KIND = 'signing_key';
const FIELD = 'private_key';

/** Keys that prove to upstreams that a header comes from the edge. */
export interface SigningKeyRecord {
  readonly id: string;
  readonly createdAtMs: number;
  /** PKCS #8, PEM. */
  readonly privateKey: string;
}

export interface SigningKeyRecords {
  /** Newest first. */
  list(): readonly SigningKeyRecord[];
  /** Only if there is none with this id: of two processes that create one at once, both end with the same key. */
  add(key: SigningKeyRecord): Promise<void>;
  remove(id: string): Promise<void>;
}

/** Stored like any secret: sealed at rest, in backups, the same for all processes. */
export function signingKeys(records: ModuleRecords): SigningKeyRecords {
  return {
    list: () =>
      records
        .list(SIGNING_KEY_KIND)
        .map(({ id, doc, secret }) => ({
          id,
          createdAtMs: doc['created_at_ms'] as number,
          privateKey: secret.text,
        }))
        .sort((a, b) => b.createdAtMs - a.createdAtMs),
    add: ({ id, createdAtMs, privateKey: text }) =>
      records.add(SIGNING_KEY_KIND, { id, doc: { created_at_ms: createdAtMs }, secret: { field: FIELD, text } }),
    remove: (id) => records.remove(SIGNING_KEY_KIND, id),
  };
}
