import Type from 'typebox';
import type { JsonObject } from '../../../kit/json.ts';
import { reference, refSchema } from '../../../kit/schema/annotations.ts';
import type { OutboxEvent, RecordKey, StoredRecord } from '../../../store/store.ts';
import { PASSKEY_KIND, PASSKEY_USE_KIND, passkeyOf, USER_ACCOUNT_KIND, useId } from '../../identity/people-records.ts';
import { notOnline } from '../errors.ts';
import { LIST_DESCRIPTION, listEnvelope } from '../live-operations.ts';
import type { OperationRequest, Principal } from '../operation.ts';
import { nextPageUri, pageOf, pagingQuery } from '../paging.ts';
import type { DocumentsPort, ReadingPorts, SharedPorts } from '../ports.ts';
import { type LiveResource, timestamp } from '../resource.ts';

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

const passkeySchema = Type.Object({
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

export interface PasskeyPorts extends PasskeyEventPorts, Pick<SharedPorts, 'uri'> {
  readonly documents: Pick<DocumentsPort, 'update' | 'require' | 'reader'>;
}

const PATH = '/user_accounts/{user_account_id}/passkeys';
const LIST_KEY = 'passkeys';
const NAMES = { resource: 'passkeys' };

/** Passkeys of a person. The person registers them at the identity host. */
export const passkeys: LiveResource<PasskeyPorts> = {
  type: 'live',
  name: NAMES.resource,
  kind: PASSKEY_KIND,
  idPrefix: 'pk',
  path: PATH,
  listKey: LIST_KEY,
  title: 'a passkey',
  description: 'A passkey with which a person logs in. Only the person can add one, at the identity host.',
  operations: [
    {
      ...NAMES,
      verb: 'list',
      method: 'GET',
      path: PATH,
      summary: 'List the passkeys of a person',
      description: LIST_DESCRIPTION,
      query: Type.Object(pagingQuery('pk'), { additionalProperties: false }),
      success: { status: 200, schema: listEnvelope(LIST_KEY, passkeySchema), description: 'A page, newest first.' },
      errors: ['ERR_POSTERN_NOT_FOUND', 'ERR_POSTERN_INVALID_QUERY'],
      run: async (request, ports) => {
        const accountId = accountIn(request, ports);
        const { beforeId, limit } = pageOf(request.query);
        const found = ports.documents.reader.pageOfParent(PASSKEY_KIND, accountId, { beforeId, limit: limit + 1 });
        const shown = found.slice(0, limit);
        const uri = ports.uri(PATH.replace('{user_account_id}', accountId));
        const hasMore = found.length > limit;
        return {
          body: {
            [LIST_KEY]: shown.map((record) => renderPasskey(record, ports)),
            uri,
            next_page_uri: hasMore ? nextPageUri(uri, request.query, limit, shown.at(-1)?.id ?? '') : null,
          },
        };
      },
    },
    {
      ...NAMES,
      verb: 'get',
      method: 'GET',
      path: `${PATH}/{id}`,
      summary: 'Get a passkey',
      description: 'Returns 404 if it was deleted.',
      success: { status: 200, schema: passkeySchema, description: 'The passkey.' },
      errors: ['ERR_POSTERN_NOT_FOUND'],
      run: (request, ports) => ({ body: renderPasskey(passkeyIn(request, ports), ports) }),
    },
    {
      ...NAMES,
      verb: 'delete',
      method: 'DELETE',
      path: `${PATH}/{id}`,
      summary: 'Delete a passkey',
      description:
        'It no longer works, and does not come back. Logins that were made with it stay: POST …/sign_out ends them. A person without a passkey needs a new invitation.',
      success: { status: 204, schema: null, description: 'The passkey is deleted.' },
      returnsRevision: true,
      errors: ['ERR_POSTERN_NOT_FOUND'],
      run: async (request, ports) => {
        const accountId = accountIn(request, ports);
        const { revision } = await ports.documents.update(USER_ACCOUNT_KIND, accountId, request, () => ({
          beside: deletedPasskeys(accountId, request.principal, ports, passkeyIn(request, ports).id),
        }));
        return { body: null, revision };
      },
    },
  ],
};

function accountIn({ params }: OperationRequest, { documents }: PasskeyPorts): string {
  return documents.require(USER_ACCOUNT_KIND, params['user_account_id'] as string).id;
}

function passkeyIn(request: OperationRequest, ports: PasskeyPorts): StoredRecord {
  const accountId = accountIn(request, ports);
  const id = request.params['id'] as string;
  const record = ports.documents.reader.get(PASSKEY_KIND, id);
  if (record === undefined || record.parent !== accountId) {
    throw notOnline('passkey', PATH.replace('{user_account_id}', accountId), id);
  }
  return record;
}
