import { PASSKEY_KIND } from '../../identity/people/people-records.ts';
import type { OutboxEvent, RecordKey } from '../../store/store.ts';
import type { Principal } from '../operation.ts';
import type { ReadingPorts, SharedPorts } from '../shared-ports.ts';
import { renderPasskey } from './render-passkey.ts';

export interface PasskeyEventPorts extends ReadingPorts, Pick<SharedPorts, 'ref' | 'liveEvent'> {}

const ALL = { beforeId: null, limit: Number.MAX_SAFE_INTEGER };

/** All passkeys of a person, or the one with this id, for the transaction that deletes them. */
export function deletedPasskeys(
  accountId: string,
  { apiKeyId }: Principal,
  ports: PasskeyEventPorts,
  passkeyId?: string,
): { readonly deletes: readonly RecordKey[]; readonly events: readonly OutboxEvent[] } {
  const records = ports.documents.reader
    .pageOfParent(PASSKEY_KIND, accountId, ALL)
    .filter(({ id }) => passkeyId === undefined || id === passkeyId);
  return {
    deletes: records.map(({ kind, id }) => ({ kind, id })),
    events: records.flatMap((record) =>
      ports.liveEvent('passkey_deleted.v0', () => renderPasskey(record, ports), apiKeyId),
    ),
  };
}
