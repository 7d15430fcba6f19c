import type { JsonObject } from '../../../lib/json.ts';
import { readOrNull } from '../../../lib/read-or-null.ts';
import { hashToken } from '../../../lib/text/token-hash.ts';
import type { FollowedKey, FollowedRecords } from '../../contract/kept-records.ts';
import { ACCOUNT_KIND, TOKEN_KIND } from '../../service-account-records.ts';
import { AccountToken, ServiceAccount } from './account-token.ts';

/** Lines of Authorization fields whose token is known without its hash. */
const MAX_KNOWN_LINES = 1_000;
const MAX_KNOWN_LINE = 256;

/**
 * Tokens of service accounts, found by their hash without a database. Follows the store, so that a change ends streams
 * within a second on every node.
 */
export class AccountTokens {
  readonly #records: FollowedRecords;
  readonly #used: (token: AccountToken) => void;
  readonly #accounts = new Map<string, ServiceAccount>();
  readonly #byHash = new Map<string, AccountToken>();
  readonly #byId = new Map<string, AccountToken>();
  readonly #byLine = new Map<string, AccountToken>();
  readonly #isCurrent: () => boolean;
  readonly #unsubscribe: () => void;

  constructor(records: FollowedRecords, used: (token: AccountToken) => void) {
    this.#records = records;
    this.#used = used;
    this.#isCurrent = () => records.isCurrent();
    for (const { id } of records.all(ACCOUNT_KIND)) this.#readAccount(id);
    for (const { id } of records.all(TOKEN_KIND)) this.#readToken(id);
    this.#unsubscribe = records.onChange((changed) => this.#changed(changed));
  }

  /** The hash, which nobody can choose, is compared: the time that it takes tells nothing about stored tokens. */
  find(text: string): AccountToken | undefined {
    return this.#byHash.get(hashToken(text));
  }

  /**
   * The token of a line that was remembered: its state may have changed since. Strings are compared only when their
   * hashes, seeded by the runtime, are equal, so this tells nothing about stored tokens either.
   */
  knownByLine(line: string): AccountToken | undefined {
    return this.#byLine.get(line);
  }

  /** Hashing and parsing cost 3 µs per request. Any change of a token or an account forgets all lines. */
  remember(line: string, token: AccountToken): void {
    if (line.length > MAX_KNOWN_LINE) return;
    if (this.#byLine.size >= MAX_KNOWN_LINES) this.#byLine.clear();
    this.#byLine.set(line, token);
  }

  close(): void {
    this.#unsubscribe();
  }

  #changed(changed: readonly FollowedKey[]): void {
    for (const { kind, id } of changed) if (kind === ACCOUNT_KIND) this.#readAccount(id);
    for (const { kind, id } of changed) if (kind === TOKEN_KIND) this.#readToken(id);
    // A token that comes back with the same hash, as by a restore, is another object.
    if (changed.some(({ kind }) => kind === ACCOUNT_KIND || kind === TOKEN_KIND)) this.#byLine.clear();
  }

  #readAccount(id: string): void {
    const doc = this.#records.get(ACCOUNT_KIND, id)?.doc;
    const account = this.#account(id);
    if (doc === undefined) {
      account.isActive = false;
      this.#accounts.delete(id);
    } else account.update({ name: doc['name'] as string, isActive: doc['active'] === true });
  }

  #readToken(id: string): void {
    const doc = this.#records.get(TOKEN_KIND, id)?.doc;
    const known = this.#byId.get(id);
    const read = doc === undefined ? null : readOrNull(() => readToken(doc));
    if (read === null) {
      if (known === undefined) return;
      known.isDeleted = true;
      this.#byId.delete(id);
      this.#byHash.delete(known.hash);
      return;
    }
    const { expiresAtMs, hash, accountId } = read;
    if (known !== undefined) {
      known.expiresAtMs = expiresAtMs;
      return;
    }
    const account = this.#account(accountId);
    const token = new AccountToken({ id, hash, account, expiresAtMs }, this.#used, this.#isCurrent);
    this.#byId.set(id, token);
    this.#byHash.set(hash, token);
  }

  #account(id: string): ServiceAccount {
    const known = this.#accounts.get(id);
    if (known !== undefined) return known;
    const made = new ServiceAccount(id);
    this.#accounts.set(id, made);
    return made;
  }
}

/** Throws if it is not what the API writes. */
export function readToken(doc: JsonObject): {
  readonly hash: string;
  readonly accountId: string;
  readonly expiresAtMs: number;
} {
  const { token_hash: hash } = doc['internal'] as JsonObject;
  const { service_account_id: accountId, expires_at: expiresAt } = doc;
  if (typeof hash !== 'string' || typeof accountId !== 'string') throw new Error('the token has no hash or no account');
  return { hash, accountId, expiresAtMs: Date.parse(expiresAt as string) };
}
