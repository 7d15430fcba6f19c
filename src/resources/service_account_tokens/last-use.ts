import Type from 'typebox';
import type { JsonObject } from '../../lib/json.ts';
import { TOKEN_USE_KIND, tokenUseId } from '../../modules/service-account-records.ts';
import type { StoredRecord } from '../../store/store.ts';
import { type LiveFields, timestamp } from '../resource.ts';
import type { ReadingPorts } from '../shared-ports.ts';

export const lastUse: LiveFields<ReadingPorts> = {
  schema: {
    last_used_at: Type.Union([timestamp('When the token last opened a route.'), Type.Null()], {
      description: 'When the token last admitted a request, to the minute; null if it was never used.',
    }),
  },
  read: (records, ports) => Promise.resolve(new Map(records.map((record) => [record.id, fieldsOf(record, ports)]))),
};

function fieldsOf({ id }: StoredRecord, { documents }: ReadingPorts): JsonObject {
  return { last_used_at: documents.reader.get(TOKEN_USE_KIND, tokenUseId(id))?.doc['used_at'] ?? null };
}
