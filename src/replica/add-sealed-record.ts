import type { JsonObject } from '../lib/json.ts';
import type { Store } from '../store/store.ts';
import type { FollowedReplica } from './followed-replica.ts';

export interface SealedRecord {
  readonly kind: string;
  readonly id: string;
  readonly doc: JsonObject;
  /** JSON pointer of the secret inside the record, such as `/private_key`. */
  readonly field: string;
  readonly secret: string;
}

/** Adds a record with one sealed secret. If another process was first, its record stays, and the replica shows it afterwards. */
export async function addSealedRecord(
  store: Pick<Store, 'commit'>,
  replica: Pick<FollowedReplica, 'refresh'>,
  { kind, id, doc, field, secret }: SealedRecord,
): Promise<void> {
  const secrets = { [field]: JSON.stringify(secret) };
  await store.commit({
    expect: [{ kind, id, revision: 'absent' }],
    puts: [{ kind, id, parent: null, doc, secrets, uniqueKeys: [], references: [] }],
  });
  await replica.refresh();
}
