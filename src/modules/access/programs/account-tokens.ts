import { type Clock, rfc3339 } from '../../../kit/clock.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { readOrNull } from '../../../kit/read-or-null.ts';
import { hashToken } from '../../../kit/text/secrets.ts';
import type { Identity, Permit, TrafficRequest } from '../../contract/decides.ts';
import type {
  FollowedKey,
  FollowedRecords,
  ModuleLog,
  ModuleTimers,
  OwnRecordPut,
} from '../../contract/keeps-state.ts';
import type { UpstreamUser } from '../../login/claims.ts';
import { SentByHost, type SentIdentity } from '../../login/sessions/grant.ts';
import { ACCOUNT_KIND, TOKEN_KIND, TOKEN_USE_KIND, tokenUseId } from '../../service-account-records.ts';

/** A service account in memory, changed in place so that requests under its tokens see it. */
export class ServiceAccount {
  readonly id: string;
  isActive = false;
  version = 0;
  identity: Identity;

  constructor(id: string) {
    this.id = id;
    this.identity = identityOf(id, '');
  }

  update({ name, isActive }: { readonly name: string; readonly isActive: boolean }): void {
    this.isActive = isActive;
    if (name === this.identity.name) return;
    this.identity = identityOf(this.id, name);
    this.version += 1;
  }
}

function identityOf(id: string, name: string): Identity {
  return { kind: 'service_account', id, email: '', isEmailVerified: false, name, claims: {}, droppedClaims: [] };
}

/** `unknown`: it may have been revoked at another node. */
export type TokenState = 'valid' | 'deleted' | 'expired' | 'inactive' | 'unknown';

/**
 * A token of a service account, and the permit of every request that carries it. It ends when the token is deleted or
 * expires, or when its account is deactivated.
 */
export class AccountToken implements ProgramPermit {
  readonly module = 'access';
  readonly id: string;
  readonly hash: string;
  readonly account: ServiceAccount;
  readonly #used: (token: AccountToken) => void;
  readonly #isCurrent: () => boolean;
  readonly #sent = new SentByHost();
  expiresAtMs: number;
  isDeleted = false;
  /** When it was last used here; 0: never. */
  usedAtMs = 0;

  constructor(
    facts: Pick<AccountToken, 'id' | 'hash' | 'account' | 'expiresAtMs'>,
    used: (token: AccountToken) => void,
    isCurrent: () => boolean = () => true,
  ) {
    this.id = facts.id;
    this.hash = facts.hash;
    this.account = facts.account;
    this.expiresAtMs = facts.expiresAtMs;
    this.#used = used;
    this.#isCurrent = isCurrent;
  }

  get userId(): string {
    return this.account.id;
  }

  get identity(): Identity {
    return this.account.identity;
  }

  get version(): Permit['version'] {
    return this.account.version;
  }

  state(nowMs: number): TokenState {
    if (this.isDeleted) return 'deleted';
    if (!this.account.isActive) return 'inactive';
    if (!this.#isCurrent()) return 'unknown';
    // NaN, from a record that cannot be read, is not later than anything.
    return this.expiresAtMs > nowMs ? 'valid' : 'expired';
  }

  isHeld(nowMs: number): boolean {
    return this.state(nowMs) === 'valid';
  }

  touch(nowMs: number): void {
    this.usedAtMs = nowMs;
    this.#used(this);
  }

  sentTo(request: TrafficRequest, make: (known: SentIdentity | null) => SentIdentity): SentIdentity {
    return this.#sent.get(request.authority, this.version, make);
  }

  upstreamUser(): Omit<UpstreamUser, 'origin' | 'host'> {
    const { id, name } = this.identity;
    return {
      kind: 'service_account',
      id,
      name,
      email: null,
      claims: {},
      sessionId: this.id,
      provider: 'postern:service_account',
      subject: id,
    };
  }
}

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

/** The permit of a program. One object per token: requests allocate nothing. */
export interface ProgramPermit extends Permit {
  /** What the upstream was last told about it on the request's host, renewed by `make`. */
  sentTo(request: TrafficRequest, make: (known: SentIdentity | null) => SentIdentity): SentIdentity;
  upstreamUser(): Omit<UpstreamUser, 'origin' | 'host'>;
}

const MINUTE_MS = 60_000;
const FLUSH_MS = 1_000;
/** After a failed write: a store that is down must not fill the log. */
const RETRY_MS = 30_000;
/** In one transaction. */
const MAX_WRITTEN = 500;

interface TokenUsesPorts {
  readonly followed: FollowedRecords;
  readonly timers: ModuleTimers;
  readonly clock: Clock;
  readonly log: ModuleLog;
}

/**
 * Records when tokens are used: within a second of the first use, then at most once a minute per token and process. A
 * request only marks its token.
 */
export class TokenUses {
  readonly #ports: TokenUsesPorts;
  readonly #used = new Set<AccountToken>();
  readonly #stop: () => void;
  #writing: Promise<void> = Promise.resolve();
  #isWriting = false;
  #retryAtMs = 0;

  constructor(ports: TokenUsesPorts) {
    this.#ports = ports;
    this.#stop = ports.timers.every(FLUSH_MS, () => {
      if (this.#ports.clock.nowMs() >= this.#retryAtMs) this.#flush((token) => this.#isDue(token));
    });
  }

  add(token: AccountToken): void {
    this.#used.add(token);
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#writing;
    this.#flush(() => true);
    await this.#writing;
  }

  #flush(isDue: (token: AccountToken) => boolean): void {
    if (this.#used.size === 0 || this.#isWriting) return;
    const due = [...this.#used].filter((token) => token.isDeleted || isDue(token)).slice(0, MAX_WRITTEN);
    if (due.length === 0) return;
    for (const token of due) this.#used.delete(token);
    this.#isWriting = true;
    this.#writing = this.#write(due.filter(({ isDeleted }) => !isDeleted))
      .catch((err: unknown) => {
        for (const token of due) this.#used.add(token);
        this.#retryAtMs = this.#ports.clock.nowMs() + RETRY_MS;
        this.#ports.log.error({ err }, 'failed to record the use of tokens');
      })
      .finally(() => {
        this.#isWriting = false;
      });
  }

  #isDue({ id, usedAtMs }: AccountToken): boolean {
    const ageMs = usedAtMs - this.#recordedMs(id);
    // A clock that was set back must not keep the record in the future.
    return ageMs >= MINUTE_MS || ageMs < 0;
  }

  #recordedMs(tokenId: string): number {
    const doc = this.#ports.followed.get(TOKEN_USE_KIND, tokenUseId(tokenId))?.doc;
    return doc === undefined ? 0 : Date.parse(doc['used_at'] as string);
  }

  async #write(tokens: readonly AccountToken[]): Promise<void> {
    const puts = tokens.map((token) => this.#put(token));
    if (puts.length === 0 || (await this.#ports.followed.write(puts))) return;
    // Another process was faster for one of them, or one was deleted: the others must not suffer.
    for (const token of tokens) await this.#ports.followed.write([this.#put(token)]);
  }

  #put({ id, usedAtMs }: AccountToken): OwnRecordPut {
    const useId = tokenUseId(id);
    return {
      kind: TOKEN_USE_KIND,
      id: useId,
      parent: id,
      doc: { used_at: rfc3339(usedAtMs) },
      seen: this.#ports.followed.get(TOKEN_USE_KIND, useId),
    };
  }
}
