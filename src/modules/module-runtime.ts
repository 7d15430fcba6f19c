import type { Clock } from '../lib/clock.ts';
import type { GuardedFetch } from '../lib/guarded-fetch.ts';
import type { JsonObject } from '../lib/json.ts';

/** State of a module for the whole process, shared by everything that it prepares. */
export interface ModuleRuntime {
  /** An edge was reconfigured or deleted. */
  edgeChanged?(edgeId: string): void;
  /** Called once, when no request is in progress. */
  close(): Promise<void>;
}

/** Services that the program offers to a module with a runtime. */
export interface RuntimePorts {
  readonly clock: Clock;
  readonly log: ModuleLog;
  /** For foreign servers: bounded, without redirects, never to metadata addresses or to ourselves. */
  readonly fetch: GuardedFetch;
  /** Hosts that may be contacted over plain http. */
  isPlainHttpAllowed(hostname: string): boolean;
  /** The same for servers named by an agent, within narrower limits. Nothing is shared between the two. */
  readonly agentIssuers: IssuerAccess;
  /** HMAC-SHA256, in hex, under a separate key per purpose. */
  mac(purpose: string, data: string): string;
  /** Authenticated encryption, as text that fits a cookie; a value sealed for one purpose opens for no other. */
  seal(purpose: string, text: string): string;
  /** Null unless it was sealed here and is unchanged. */
  open(purpose: string, sealed: string): string | null;
  newId(prefix: string): string;
  readonly logins: LoginRecords;
  readonly signingKeys: SigningKeyRecords;
  /** The current configuration of a module in an edge's records, by route, including disabled ones. */
  moduleConfigs(edgeId: string, module: string): readonly JsonObject[];
  /** Counts an occurrence by a stable name, for the metrics. */
  count(happening: string): void;
}

/** Which servers may be contacted as issuers, and how. */
export interface IssuerAccess {
  readonly fetch: GuardedFetch;
  isPlainHttpAllowed(hostname: string): boolean;
  isAddressAllowed(ip: string, port: number, isTls: boolean): boolean;
}

export interface ModuleLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Stored logins: one record per user on one host at one client of a provider. */
export interface LoginRecord {
  readonly id: string;
  readonly userId: string;
  /** SHA-256 of the browser's key, in hex; shared by the logins of one browser. */
  readonly keyHash: string;
  readonly edgeId: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly providerSessionId: string | null;
  readonly lastActiveMs: number;
  /** 0 = unlimited. */
  readonly expiresAtMs: number;
  /** Increases with every write of the tokens. */
  readonly version: number;
  readonly doc: JsonObject;
  readonly secrets: Readonly<Record<string, string>> | null;
}

export interface LoginRecords {
  recordLogin(login: {
    readonly identity: string;
    readonly newUserId: string;
    readonly userDoc: JsonObject;
    readonly session: Omit<LoginRecord, 'userId' | 'version'>;
    readonly previousKeyHash: string | null;
    readonly replaces: readonly string[];
  }): Promise<readonly LoginRecord[]>;
  findByKey(keyHash: string): Promise<readonly LoginRecord[]>;
  getSession(id: string): Promise<LoginRecord | null>;
  touch(
    activity: readonly { readonly id: string; readonly lastActiveMs: number; readonly expiresAtMs: number }[],
  ): Promise<void>;
  claimRefresh(id: string, nowMs: number, untilMs: number): Promise<boolean>;
  replaceTokens(
    id: string,
    expectedVersion: number,
    tokens: {
      readonly secrets: Readonly<Record<string, string>>;
      readonly doc: JsonObject;
      /** Fields of the user that a refresh has changed. */
      readonly user?: JsonObject;
    },
  ): Promise<LoginRecord | null>;
  releaseRefresh(id: string): Promise<void>;
  deleteSession(id: string): Promise<boolean>;
  endByKey(keyHash: string): Promise<readonly string[]>;
  endByProvider(query: {
    readonly issuer: string;
    readonly clientId: string;
    readonly identity: string | null;
    readonly providerSessionId: string | null;
    readonly token: { readonly key: string; readonly goodUntilMs: number } | null;
  }): Promise<readonly string[] | null>;
  /** True for one caller across all processes. */
  claimOnce(key: string, untilMs: number): Promise<boolean>;
  endOrphans(
    edgeId: string,
    kept: readonly { readonly issuer: string; readonly clientId: string }[],
  ): Promise<readonly string[]>;
  listEdgeIds(): Promise<readonly string[]>;
  prune(nowMs: number, unusedSinceMs: number): Promise<readonly string[]>;
  onChanged(listener: (changes: readonly LoginChange[]) => void): () => void;
  /** Whether other processes write too, so that their changes must be polled. */
  readonly isShared: boolean;
  changesSince(
    seq: number,
  ): Promise<{ readonly isComplete: boolean; readonly seq: number; readonly changes: readonly LoginChange[] }>;
  currentSeq(): Promise<number>;
  /** The store went back to an earlier state: everything known about logins must be read again. */
  onReset(reload: () => void | Promise<void>): () => void;
}

export interface LoginChange {
  readonly op: 'put' | 'end';
  readonly sessionId: string;
  readonly keyHash: string;
}

/** Keys that prove to upstreams that a statement comes from the edge. */
export interface SigningKeyRecord {
  readonly id: string;
  readonly createdAtMs: number;
  /** PKCS #8, PEM. */
  readonly privateKey: string;
}

export interface SigningKeyRecords {
  /** Newest first. */
  list(): readonly SigningKeyRecord[];
  /** Adds only if the id is new: two processes that create a key at once end up with the same one. */
  add(key: SigningKeyRecord): Promise<void>;
  remove(id: string): Promise<void>;
}
