import Type from 'typebox';
import { PASSKEY_USE_KIND, passkeyOf, useId } from '../../identity/people/people-records.ts';
import type { JsonObject } from '../../lib/json.ts';
import { reference, refSchema } from '../../lib/schema/annotations.ts';
import type { StoredRecord } from '../../store/store.ts';
import { timestamp } from '../resource.ts';
import type { ReadingPorts, SharedPorts } from '../shared-ports.ts';

export const passkeySchema = Type.Object({
  id: Type.String({ description: 'Id, starting with "pk_".' }),
  uri: Type.String({ description: 'URI of the resource.' }),
  created_at: timestamp('When it was registered.'),
  user_account: reference({ kinds: ['user_account'] }, refSchema),
  name: Type.String({ description: 'Name that the person gave it.', examples: ['Laptop'] }),
  host: Type.String({
    description: 'Identity host that it was registered for. It works at no other.',
    examples: ['id.example.com'],
  }),
  backed_up: Type.Boolean({
    description: 'Whether the authenticator copies it to other devices of the person, as password managers do.',
  }),
  last_used_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    description: 'When the person last logged in with it; null if never.',
  }),
});

export function renderPasskey(record: StoredRecord, ports: ReadingPorts & Pick<SharedPorts, 'ref'>): JsonObject {
  const { id, accountId, created_at, name, host, backed_up } = passkeyOf(record);
  const use = ports.documents.reader.get(PASSKEY_USE_KIND, useId(id));
  return {
    ...ports.ref(id, accountId),
    created_at,
    user_account: { ...ports.ref(accountId) },
    name,
    host,
    backed_up,
    last_used_at: use?.doc['used_at'] ?? null,
  };
}
