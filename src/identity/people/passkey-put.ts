import type { RecordPut } from '../../store/store.ts';
import { credentialKey, PASSKEY_KIND, type PasskeyDoc } from './people-records.ts';

export function passkeyPut(id: string, accountId: string, doc: PasskeyDoc): RecordPut {
  return {
    kind: PASSKEY_KIND,
    id,
    parent: accountId,
    doc: { ...doc },
    secrets: null,
    uniqueKeys: [credentialKey(doc.credential_id)],
    references: [],
  };
}
