import type { JsonObject } from '../../kit/json.ts';
import type { IssuerSources } from '../login/provider/providers.ts';
import type { ConfiguredBy } from './agent-form.ts';

type Secrets = Readonly<Record<string, string>>;

interface PageQuery {
  /** Only ids below this one; the record itself may be deleted. */
  readonly beforeId: string | null;
  readonly limit: number;
}

export interface LoginUser {
  readonly id: string;
  readonly doc: JsonObject;
}

/** One grant: a user logged in with one browser on one host of an edge at one client of a provider. */
export interface LoginSession {
  readonly id: string;
  readonly userId: string;
  /** SHA-256 of the browser's key, in hex; shared by all grants of one browser. The key itself is never stored. */
  readonly keyHash: string;
  readonly edgeId: string;
  readonly issuer: string;
  readonly clientId: string;
  /** `sid` from the provider, for back-channel logout. */
  readonly providerSessionId: string | null;
  readonly lastActiveMs: number;
  /** 0 = unlimited. */
  readonly expiresAtMs: number;
  /** Increases with every write of the tokens. */
  readonly version: number;
  readonly doc: JsonObject;
  readonly secrets: Secrets | null;
}

export interface NewLogin {
  /** Hash of (issuer, subject): one user per identity. */
  readonly identity: string;
  /** Used when the identity is new. */
  readonly newUserId: string;
  /**
   * Replaces the user's document; `created_at` of an existing user is kept, and so is each text that is empty in the
   * new document.
   */
  readonly userDoc: JsonObject;
  readonly session: Omit<LoginSession, 'userId' | 'version'>;
  /** Other grants of this browser move to the new key. */
  readonly previousKeyHash: string | null;
  /** Grants that the new one replaces: they end with it if they are under `previousKeyHash`; others are ignored. */
  readonly replaces: readonly string[];
}

/**
 * A grant that moved to another key is a `put` under its new key: forget it under the older one. The `keyHash` of an
 * `end` is the grant's last key.
 */
export interface LoginChange {
  readonly op: 'put' | 'end';
  readonly sessionId: string;
  readonly keyHash: string;
}

export type LoginListener = (changes: readonly LoginChange[]) => void;

export interface LoginActivity {
  readonly id: string;
  readonly lastActiveMs: number;
  readonly expiresAtMs: number;
}

export interface LoginTokens {
  readonly secrets: Secrets;
  readonly doc: JsonObject;
  /** Fields of the user's document that a refresh has changed; the others stay. */
  readonly user?: JsonObject;
}

export interface ProviderLogout {
  readonly issuer: string;
  readonly clientId: string;
  readonly identity: string | null;
  readonly providerSessionId: string | null;
  /** The logout token, valid once; remembered until it would have expired anyway. */
  readonly token: { readonly key: string; readonly validUntilMs: number } | null;
}

/** A client of a provider. */
export interface LoginClientId {
  readonly issuer: string;
  readonly clientId: string;
}

export interface LoginChangesSince {
  /** False when the log does not reach back that far: everything known about grants must be read again. */
  readonly isComplete: boolean;
  /** Current position of the log: where to continue reading. */
  readonly seq: number;
  readonly changes: readonly LoginChange[];
}

/** Logins: users, and grants until they end. Ended grants are deleted, and nothing here restores them. */
export interface LoginStore {
  /**
   * One transaction, durable when it resolves: user, new grant, moved grants, ended ones. Returns all under the new
   * key.
   */
  recordLogin(login: NewLogin): Promise<readonly LoginSession[]>;
  /** All grants that have not ended, ordered by id, including expired ones: the caller checks limits. */
  findByKey(keyHash: string): Promise<readonly LoginSession[]>;
  getUser(id: string): Promise<LoginUser | null>;
  getSession(id: string): Promise<LoginSession | null>;
  listUsers(query: PageQuery): Promise<readonly LoginUser[]>;
  /** Grants that have not expired at `nowMs`. */
  listSessions(query: PageQuery & { readonly nowMs: number }): Promise<readonly LoginSession[]>;
  /**
   * Advances `lastActiveMs` and its expiry, and the users' `last_active`. Values older than the stored ones change
   * nothing, and neither do ended grants. No change is announced.
   */
  touch(activity: readonly LoginActivity[]): Promise<void>;
  /** True for one caller until `untilMs`; false while another holds the claim or the grant is gone. */
  claimRefresh(id: string, nowMs: number, untilMs: number): Promise<boolean>;
  /**
   * Only if the version is still `expectedVersion`; releases the claim. Null when it is not, or the grant has ended.
   */
  replaceTokens(id: string, expectedVersion: number, tokens: LoginTokens): Promise<LoginSession | null>;
  releaseRefresh(id: string): Promise<void>;
  /** False when it did not exist. */
  deleteSession(id: string): Promise<boolean>;
  /** Deletes the user and all grants. False when it did not exist. */
  deleteUser(id: string): Promise<boolean>;
  /** Ends all grants of a browser; returns their ids, like every method that ends several. */
  endByKey(keyHash: string): Promise<readonly string[]>;
  /**
   * Back-channel logout: ends grants of this client with this provider session, or of this identity, or with both if
   * both are given. Null when the token was used before: then nothing ends.
   */
  endByProvider(logout: ProviderLogout): Promise<readonly string[] | null>;
  /** True for one caller across all processes, durable when it resolves; forgotten some time after `untilMs`. */
  claimOnce(key: string, untilMs: number): Promise<boolean>;
  /** Ends grants of the edge whose client is not among `kept`. */
  endOrphans(edgeId: string, kept: readonly LoginClientId[]): Promise<readonly string[]>;
  /** Edges that have grants. */
  listEdgeIds(): Promise<readonly string[]>;
  /** Ends grants not used since `unusedSinceMs`, and those expired at `nowMs`. Users stay. */
  prune(nowMs: number, unusedSinceMs: number): Promise<readonly string[]>;
  /** In order, after the commit. For writes of this process, called before the write's promise resolves. */
  onChanged(listener: LoginListener): () => void;
  /** Another process has changed something: ask `changesSince`. A call may be lost, so followers also poll. */
  onForeignChange(listener: () => void): () => void;
  /** Changes after `seq`, by any process, in order. */
  changesSince(seq: number): Promise<LoginChangesSince>;
  currentSeq(): Promise<number>;
  /** As in the store: everything known about grants must be read again. */
  onReset(reload: () => void | Promise<void>): () => void;
}

/** What the module uses of it; users and lists are for the API. */
export interface LoginRecords extends Omit<LoginStore, 'getUser' | 'listUsers' | 'listSessions' | 'deleteUser'> {
  /** Whether other processes also write, so that their changes must be polled. */
  readonly isShared: boolean;
  /** What the threads of this process tell each other; null: there is one. */
  readonly threads: LoginThreads | null;
}

export interface LoginThreads {
  /** Resolves when all threads hear of it before anything that they are sent later. */
  keyReplaced(key: ReplacedKey): Promise<void>;
  onKeyReplaced(listener: (key: ReplacedKey) => void): () => void;
  /** What the threads have in memory, each login once, with its last use at any of them. */
  seen(question: SeenQuestion): Promise<readonly LoginRecord[]>;
  onSeenWanted(answer: (question: SeenQuestion) => readonly LoginRecord[]): () => void;
  /** What issuers publish is fetched once for all threads. */
  issuers(configuredBy: ConfiguredBy): IssuerSources;
}

/** About the logins of a browser, or about one login. */
export type SeenQuestion = { readonly keyHash: string } | { readonly sessionId: string };

/** A browser's key that a login has replaced. */
export interface ReplacedKey {
  readonly keyHash: string;
  readonly by: string;
  /** What its logins opened: see `whatItOpens`. */
  readonly opened: readonly string[];
  /** Accepted until then. */
  readonly untilMs: number;
}

export type LoginRecord = LoginSession;
