import Type from 'typebox';
import { nearMatches } from '../../lib/near-match.ts';
import { bodyProblem } from '../../lib/schema/decode-body.ts';
import { ownerId } from '../owner-id.ts';
import { defineResource, describedFields } from '../resource.ts';
import { hashToken } from '../token-hash.ts';

const ALL = '*';
/** Unique-key scope held by keys with all scopes, so that the last of them cannot be deleted. */
export const UNLIMITED_KEYS = 'unlimited_api_key';

/** Keys of this API. */
export const apiKeys = defineResource({
  name: 'api_keys',
  kind: 'api_key',
  idPrefix: 'ak',
  path: '/api_keys',
  listKey: 'keys',
  title: 'an API key',
  description: 'A key for this API. Its token is shown once, when it is made, and stored as a hash only.',
  eventNoun: 'api_key',
  keepAtLeastOne: [UNLIMITED_KEYS],
  config: Type.Object({
    ...describedFields,
    scopes: Type.Array(Type.String({ maxLength: 128 }), {
      default: [ALL],
      maxItems: 100,
      description:
        'What the key may do: a list such as ["edges:read", "edges:write"], the first segment of the path with ":read" or ":write"; "secrets:read" to see secrets; "*" or left out for everything.',
    }),
  }),
  derived: { owner_id: ownerId },
  shownOnce: {
    token: Type.String({
      description: 'The key itself, to be sent as "Authorization: Bearer …". Shown only here.',
      examples: ['postern_ak_EXAMPLEexampleEXAMPLEexampleEXAMPLEexampleE'],
    }),
  },
  example: { description: 'deploy job', scopes: ['edges:read', 'edges:write', 'backends:write'] },
  check: (config, settings) => {
    if (config.scopes.length === 0)
      return [
        bodyProblem('scopes', 'must not be empty: leave it out for all scopes, or name the ones that the key needs'),
      ];
    const repeated = config.scopes.find((scope, index) => config.scopes.indexOf(scope) !== index);
    if (repeated !== undefined) return [bodyProblem('scopes', `names "${repeated}" twice: name each scope once`)];
    const unknown = config.scopes.find((scope) => !settings.scopes.includes(scope));
    if (unknown === undefined) return [];
    const near = nearMatches(unknown, settings.scopes).join(', ') || settings.scopes.join(', ');
    return [bodyProblem('scopes', `names "${unknown}", which is no scope: perhaps ${near}`)];
  },
  authorize: (principal, config, previous) => {
    const beyond = [...(config?.scopes ?? []), ...(previous?.scopes ?? [])].find(
      (scope) => !covers(principal.scopes, scope),
    );
    return beyond === undefined
      ? null
      : {
          scope: beyond,
          message: `this API key lacks the scope "${beyond}", so it cannot make, change or delete a key that has it: use a key with that scope`,
        };
  },
  onCreate: (_config, ports) => {
    const token = ports.newToken('postern_ak_');
    return { internal: { token_hash: hashToken(token) }, shownOnce: { token } };
  },
  uniqueKeys: (config, owner, extra) => [
    { scope: 'api_key_token', key: String((extra['internal'] as { token_hash: string }).token_hash) },
    ...(config.scopes.includes(ALL) ? [{ scope: UNLIMITED_KEYS, key: owner.id }] : []),
  ],
});

function covers(scopes: readonly string[], wanted: string): boolean {
  return scopes.includes(ALL) || scopes.includes(wanted);
}
