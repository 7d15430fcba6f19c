import { timingSafeEqual } from 'node:crypto';
import type { JsonObject } from '../../lib/json.ts';
import { readOrNull } from '../../lib/read-or-null.ts';
import { hashToken } from '../../lib/text/token-hash.ts';
import type { Replica } from '../../replica/replica.ts';
import type { StoredRecord } from '../../store/store.ts';
import type { Principal } from '../operation.ts';
import { apiKeys } from './api-keys.ts';

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
