import Type from 'typebox';
import type { JsonObject } from '../../lib/json.ts';
import type { StoredRecord } from '../../store/store.ts';
import type { OperationPorts } from '../operation.ts';
import { type LiveFields, timestamp } from '../resource.ts';

/** A record of its own: use must neither change the ETag of a token nor be reported as a change of it. */
const TOKEN_USE_KIND = 'service_account_token_use';

/** Different from the token's id: the store knows parents by id alone. */
function tokenUseId(tokenId: string): string {
  return `${tokenId}.use`;
}

export const lastUse: LiveFields = {
  schema: {
    last_used_at: Type.Union([timestamp('When the token last opened a route.'), Type.Null()], {
      description: 'When the token last admitted a request, to the minute. RFC 3339, UTC; null if it was never used.',
    }),
  },
  read: (records, ports) => Promise.resolve(new Map(records.map((record) => [record.id, fieldsOf(record, ports)]))),
};

function fieldsOf({ id }: StoredRecord, { documents }: OperationPorts): JsonObject {
  return { last_used_at: documents.reader.get(TOKEN_USE_KIND, tokenUseId(id))?.doc['used_at'] ?? null };
}
