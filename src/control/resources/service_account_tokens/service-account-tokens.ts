import Type from 'typebox';
import { rfc3339 } from '../../../kit/clock.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { idString, reference } from '../../../kit/schema/annotations.ts';
import { bodyProblem } from '../../../kit/schema/decode-body.ts';
import { hashToken } from '../../../kit/text/secrets.ts';
import { parseRfc3339 } from '../../../kit/text/time.ts';
import { TOKEN_PREFIX, TOKEN_USE_KIND, tokenUseId } from '../../../modules/service-account-records.ts';
import type { StoredRecord } from '../../../store/store.ts';
import type { ReadingPorts } from '../ports.ts';
import { defineResource, describedFields, type LiveFields, timestamp } from '../resource.ts';

const lastUse: LiveFields<ReadingPorts> = {
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

const YEAR_MS = 365 * 86_400_000;

/** Secrets with which programs pass routes. */
export const serviceAccountTokens = defineResource({
  isNeverRestored: true,
  derivedKinds: [TOKEN_USE_KIND],
  name: 'service_account_tokens',
  kind: 'service_account_token',
  idPrefix: 'sat',
  path: '/service_account_tokens',
  listKey: 'service_account_tokens',
  title: 'a service account token',
  description:
    'A bearer token of a service account. It is shown only once, in the response to the create, and stored as a hash. Deleting it, or its expiry, ends open streams within a second.',
  eventNoun: 'service_account_token',
  parent: { kind: 'service_account', field: 'service_account_id' },
  config: Type.Object({
    ...describedFields,
    service_account_id: reference(
      { kinds: ['service_account'] },
      idString('Id of the service account that the token belongs to. It cannot be changed later.'),
    ),
    expires_at: Type.String({
      default: null,
      minLength: 1,
      maxLength: 40,
      format: 'date-time',
      description:
        'When the token expires: a time in RFC 3339 format. A change takes effect immediately. Default: one year after the create.',
    }),
  }),
  immutable: ['service_account_id'],
  live: lastUse,
  shownOnce: {
    token: Type.String({
      description: 'The token itself. Send it as "Authorization: Bearer …". Only this response shows it.',
      examples: ['pst_EXAMPLEexampleEXAMPLEexampleEXAMPLEexampleE'],
    }),
  },
  example: { service_account_id: 'sa_2zXAMPLEaccountOfTheDocsAAA', expires_at: '2027-06-30T00:00:00Z' },
  check: ({ expires_at: expiresAt }) =>
    isAbsent(expiresAt) || parseRfc3339(expiresAt) !== null
      ? []
      : [bodyProblem('expires_at', 'must be a time such as "2027-01-31T00:00:00Z" (RFC 3339)')],
  narrowable: ['expires_at'],
  isRevocation: (config, previous) =>
    config === null || Date.parse(config.expires_at) < Date.parse(previous.expires_at),
  onCreate: ({ expires_at: expiresAt }, ports) => {
    if (!isAbsent(expiresAt) && Date.parse(expiresAt) <= ports.nowMs) {
      return { problems: [bodyProblem('expires_at', 'is in the past: send a later time, or omit it for one year')] };
    }
    const token = ports.newToken(TOKEN_PREFIX);
    return {
      config: { expires_at: isAbsent(expiresAt) ? rfc3339(ports.nowMs + YEAR_MS) : expiresAt },
      internal: { token_hash: hashToken(token) },
      shownOnce: { token },
    };
  },
  uniqueKeys: (_config, _owner, extra) => [
    { scope: 'service_account_token', key: String((extra['internal'] as { token_hash: string }).token_hash) },
  ],
});

/** The schema's type does not tell that an omitted field is null until the create completes it. */
function isAbsent(value: string | null): value is null {
  return value === null;
}
