import { timingSafeEqual } from 'node:crypto';
import Type from 'typebox';
import type { JsonObject } from '../../../kit/json.ts';
import { readOrNull } from '../../../kit/read-or-null.ts';
import { bodyProblem } from '../../../kit/schema/decode-body.ts';
import { didYouMean } from '../../../kit/text/near-match.ts';
import { hashToken } from '../../../kit/text/secrets.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import type { StoredRecord } from '../../../store/store.ts';
import type { MissingScope } from '../errors.ts';
import type { Principal } from '../operation.ts';
import { defineResource, describedFields, ownerId } from '../resource.ts';
import { ALL_SCOPES, coversScope } from '../scopes.ts';

/** Unique-key scope held by keys with all scopes, so that the last of them cannot be deleted. */
const UNLIMITED_KEYS = 'unlimited_api_key';

/** Keys of this API. */
export const apiKeys = defineResource({
  isNeverRestored: true,
  name: 'api_keys',
  kind: 'api_key',
  idPrefix: 'ak',
  path: '/api_keys',
  listKey: 'keys',
  title: 'an API key',
  description: 'A key for this API. Its token is shown only once, in the response to the create, and stored as a hash.',
  eventNoun: 'api_key',
  keepAtLeastOne: [UNLIMITED_KEYS],
  config: Type.Object({
    ...describedFields,
    scopes: Type.Array(Type.String({ maxLength: 128 }), {
      default: [ALL_SCOPES],
      maxItems: 100,
      description:
        'Scopes of the key, such as ["edges:read", "edges:write"]: the first path segment with ":read" or ":write"; "metrics:read" to read /metrics; "secrets:read" to read secrets; "*:read" to read everything else. Use "*" or omit the field for all scopes.',
    }),
  }),
  derived: { owner_id: ownerId },
  shownOnce: {
    token: Type.String({
      description: 'The key itself. Send it as "Authorization: Bearer …". Only this response shows it.',
      examples: ['postern_ak_EXAMPLEexampleEXAMPLEexampleEXAMPLEexampleE'],
    }),
  },
  example: { description: 'deploy job', scopes: ['edges:read', 'edges:write', 'backends:write'] },
  check: (config, settings) => {
    if (config.scopes.length === 0)
      return [
        bodyProblem('scopes', 'must not be empty: omit it for all scopes, or list the scopes that the key needs'),
      ];
    const repeated = config.scopes.find((scope, index) => config.scopes.indexOf(scope) !== index);
    if (repeated !== undefined) return [bodyProblem('scopes', `lists "${repeated}" twice: list each scope once`)];
    const unknown = config.scopes.find((scope) => !settings.scopes.includes(scope));
    if (unknown === undefined) return [];
    const advice = `${didYouMean(unknown, settings.scopes)} Scopes: ${settings.scopes.join(', ')}`;
    return [bodyProblem('scopes', `lists "${unknown}", which is not a scope.${advice}`)];
  },
  authorize: (principal, config, previous, { id, reader }) => {
    const beyond = [...(config?.scopes ?? []), ...(previous?.scopes ?? [])].find(
      (scope) => !coversScope(principal.scopes, scope),
    );
    return beyond === undefined
      ? beyondMaker(config, previous, id === null ? undefined : reader.get('api_key', id))
      : {
          scope: beyond,
          message: `this API key lacks the scope "${beyond}", so it cannot create, change or delete a key with that scope: use a key that has it`,
        };
  },
  narrowable: ['scopes'],
  isRevocation: (config, previous) =>
    config === null ||
    (config.scopes.every((scope) => coversScope(previous.scopes, scope)) &&
      !previous.scopes.every((scope) => coversScope(config.scopes, scope))),
  onCreate: (_config, ports) => {
    const token = ports.newToken('postern_ak_');
    return { internal: { token_hash: hashToken(token), maker_scopes: ports.principal.scopes }, shownOnce: { token } };
  },
  uniqueKeys: (config, owner, extra) => [
    { scope: 'api_key_token', key: String((extra['internal'] as { token_hash: string }).token_hash) },
    ...(config.scopes.includes(ALL_SCOPES) ? [{ scope: UNLIMITED_KEYS, key: owner.id }] : []),
  ],
});

/** The maker of a key has seen its token: the key must not get more than that caller had. */
function beyondMaker(
  config: { readonly scopes: readonly string[] } | null,
  previous: { readonly scopes: readonly string[] } | null,
  record: StoredRecord | undefined,
): MissingScope | null {
  if (config === null || previous === null || record === undefined) return null;
  const { maker_scopes: had = [] } = record.doc['internal'] as { readonly maker_scopes?: readonly string[] };
  const scope = config.scopes.find((each) => !coversScope(previous.scopes, each) && !coversScope(had, each));
  if (scope === undefined) return null;
  return {
    scope,
    message: `the API key ${record.id} was made by a caller without the scope "${scope}", who has seen its token: create a new key with that scope instead`,
  };
}

/**
 * Finds the owner of a token without a database. It follows the replica, so a deleted key stops working immediately.
 */
export class KeyDirectory {
  readonly #byHash = new Map<string, { readonly hash: Buffer; readonly principal: Principal }>();
  readonly #hashById = new Map<string, string>();
  /** Hashing costs more than the rest of a lookup. Cleared with every change of a key. */
  readonly #recent = new Map<string, Principal>();

  constructor(replica: Replica) {
    for (const record of replica.all(apiKeys.kind)) this.#add(record);
    replica.onChange(
      (changes) => {
        for (const change of changes) {
          if (change.op === 'put' && change.record.kind === apiKeys.kind) this.#add(change.record);
          else if (change.op === 'delete' && change.key.kind === apiKeys.kind) this.#remove(change.key.id);
        }
      },
      [apiKeys.kind],
    );
  }

  find(token: string): Principal | null {
    const recent = this.#recent.get(token);
    if (recent !== undefined) return recent;
    const found = this.#findByHash(token);
    // Only valid tokens are cached, so an attacker cannot fill it.
    if (found !== null) this.#recent.set(token, found);
    return found;
  }

  #findByHash(token: string): Principal | null {
    const tokenHash = hashToken(token);
    const found = this.#byHash.get(tokenHash);
    if (found === undefined) return null;
    // The map compares hashes, which an attacker cannot choose; the final comparison is constant-time anyway.
    return timingSafeEqual(found.hash, Buffer.from(tokenHash)) ? found.principal : null;
  }

  #add(record: StoredRecord): void {
    this.#remove(record.id);
    const read = readOrNull(() => readKey(record));
    if (read === null) return;
    const { tokenHash, principal } = read;
    this.#byHash.set(tokenHash, { hash: Buffer.from(tokenHash), principal });
    this.#hashById.set(record.id, tokenHash);
  }

  #remove(id: string): void {
    this.#recent.clear();
    const tokenHash = this.#hashById.get(id);
    if (tokenHash === undefined) return;
    this.#byHash.delete(tokenHash);
    this.#hashById.delete(id);
  }
}

/** Throws if it is not what the API writes. */
export function readKey({ id, doc }: StoredRecord): { readonly tokenHash: string; readonly principal: Principal } {
  const { token_hash: tokenHash } = doc['internal'] as JsonObject;
  const { scopes } = doc;
  if (typeof tokenHash !== 'string' || !Array.isArray(scopes)) throw new Error('the key has no hash or no scopes');
  return { tokenHash, principal: { apiKeyId: id, scopes: scopes.filter((scope) => typeof scope === 'string') } };
}
