import { passkeyPut } from '../../src/control/identity/people-records.ts';
import type { RecordPut } from '../../src/store/store.ts';

/** A passkey as a person would have registered it. */
export function testPasskeyPut(id: string, accountId: string, name = 'Laptop', host = 'id.example.com'): RecordPut {
  return passkeyPut(id, accountId, {
    ...{ name, credential_id: id, public_key: 'key', sign_count: 0, transports: ['internal'] },
    ...{ device_type: 'multiDevice', backed_up: true, created_at: '2026-11-16T09:00:00.000Z', host },
    inviter_scopes: ['*'],
  });
}
