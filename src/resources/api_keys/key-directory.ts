import { timingSafeEqual } from 'node:crypto';
import type { JsonObject } from '../../lib/json.ts';
import type { Replica } from '../../replica/replica.ts';
import type { StoredRecord } from '../../store/store.ts';
import type { Principal } from '../operation.ts';
import { hashToken } from '../token-hash.ts';
import { apiKeys } from './api-keys.ts';

/** Finds who a token belongs to, without a database. Follows the replica, so a deleted key stops at once. */
export class KeyDirectory {
  readonly #byHash = new Map<string, { readonly hash: Buffer; readonly principal: Principal }>();
  readonly #hashById = new Map<string, string>();
  /** Hashing costs more than the rest of a look-up. Emptied with every change of a key. */
  readonly #recent = new Map<string, Principal>();

  constructor(replica: Replica) {
    for (const record of replica.all(apiKeys.kind)) this.#add(record);
    replica.onChange((changes) => {
      for (const change of changes) {
        if (change.op === 'put' && change.record.kind === apiKeys.kind) this.#add(change.record);
        else if (change.op === 'delete' && change.key.kind === apiKeys.kind) this.#remove(change.key.id);
      }
    });
  }

  find(token: string): Principal | null {
    const recent = this.#recent.get(token);
    if (recent !== undefined) return recent;
    const found = this.#findByHash(token);
    // Only tokens that are good are remembered, so nobody can fill it up.
    if (found !== null) this.#recent.set(token, found);
    return found;
  }

  #findByHash(token: string): Principal | null {
    const tokenHash = hashToken(token);
    const found = this.#byHash.get(tokenHash);
    if (found === undefined) return null;
    // The map compares hashes, whose value an attacker cannot steer; this keeps the last word constant-time all the same.
    return timingSafeEqual(found.hash, Buffer.from(tokenHash)) ? found.principal : null;
  }

  #add(record: StoredRecord): void {
    this.#remove(record.id);
    const tokenHash = (record.doc['internal'] as JsonObject)['token_hash'] as string;
    const principal = { apiKeyId: record.id, scopes: record.doc['scopes'] as readonly string[] };
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
