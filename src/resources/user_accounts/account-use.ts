import Type from 'typebox';
import { lastLoginOf, PASSKEY_KIND, USER_ACCOUNT_USE_KIND, useId } from '../../identity/people/people-records.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { LiveFields } from '../resource.ts';
import type { ReadingPorts } from '../shared-ports.ts';

const ALL = { beforeId: null, limit: Number.MAX_SAFE_INTEGER };

export const accountUse: LiveFields<ReadingPorts> = {
  schema: {
    last_login_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
      description: 'When the person last logged in at the identity host; null if never.',
    }),
    passkey_count: Type.Integer({ description: 'Number of passkeys of the person.', examples: [2] }),
  },
  read: (records, ports) => Promise.resolve(new Map(records.map(({ id }) => [id, fieldsOf(id, ports)]))),
};

function fieldsOf(id: string, { documents: { reader } }: ReadingPorts): JsonObject {
  return {
    last_login_at: lastLoginOf(reader.get(USER_ACCOUNT_USE_KIND, useId(id))),
    passkey_count: reader.pageOfParent(PASSKEY_KIND, id, ALL).length,
  };
}
