import type { JsonObject } from '../lib/json.ts';
import type { DeliveryStore, EventStore, OutboxEvent } from './delivery-store.ts';
import type { LoginStore } from './login-store.ts';
import type { StoreHealth, StoreHealthListener } from './store-health.ts';

export type * from './delivery-store.ts';
export type * from './login-store.ts';
export type { StoreHealth, StoreState } from './store-health.ts';

/**
 * The store's interface. Two engines implement it (`sqlite/`, `postgres/`); `test/store/conformance` holds both to it.
 *
 * Configuration is records: `(kind, id) → document, revision`. Every write is one declarative `WriteSet`, judged and
 * applied inside one transaction under the lock of the revision counter: expectations, unique keys, references, parents,
 * cycles and the outbox all hold or nothing happens. A write-set that changes something takes the next revision, so
 * revisions are gapless and totally ordered. Declarative, because an interactive transaction would hold the writers'
 * lock across message round trips, and could not be grouped with the writers that wait beside it.
 *
 * Live state (leases, logins, deliveries) has tables of its own and no revision: the change feed is no heartbeat monitor.
 */
export interface Store {
  readonly engine: 'sqlite' | 'postgres';

  /** Applies the write-set durably: once this resolves with `ok`, the change survives `kill -9` and power loss. */
  commit(writeSet: WriteSet): Promise<CommitResult>;
  /** The newest revision that is committed, by whichever process. */
  currentRevision(): Promise<number>;
  /** All records in batches, in one consistent view; `revision` is the one that the view stands at. */
  readAll(onBatch: (records: readonly StoredRecord[]) => void): Promise<{ readonly revision: number }>;
  /** What changed after `revision`. `isComplete: false` when the feed no longer reaches back so far: read all again. */
  changesSince(revision: number): Promise<ChangesSince>;
  /**
   * Called when there may be something new: with the changes themselves when this process committed them (ascending, gapless
   * among themselves), with none when another process did. A lost call costs latency, never truth: followers also poll.
   * Listeners run before the promise of the commit that caused them resolves. A listener that gives `applied`, the revision
   * that it has read up to, is called with every poll until it stands where the store stands: so a failed read is repeated.
   */
  onCommitted(listener: CommitListener, applied?: () => number): () => void;

  /**
   * Called when the database turns out not to have what this process has seen of it: it failed over to a server behind it, or was
   * restored to an earlier time. Everything in memory that came from the store has to be read again. Writes are refused, and
   * this is called again after a failure, until all listeners have done so.
   */
  onReset(reload: (cause: Error) => void | Promise<void>): () => void;

  findIdempotency(scope: string): Promise<IdempotencyRecord | null>;
  /** Account id, made with the store. */
  readonly accountId: string;
  /** HMAC-SHA256 under a key derived from the secret key for this purpose, hex: for hashes that must not be searchable. */
  mac(purpose: string, data: string): string;
  /** Authenticated encryption of what leaves the process, such as a cookie, bound to its purpose. */
  seal(purpose: string, text: string): string;
  /** Null for whatever was not sealed for this purpose with a key that is known. */
  open(purpose: string, sealed: string): string | null;

  readonly events: EventStore;
  readonly presence: PresenceStore;
  readonly logins: LoginStore;
  readonly deliveries: DeliveryStore;

  /** Prunes what has aged out: change rows behind the horizon (of records and of logins), idempotency records, expired leases. */
  prune(nowMs: number): Promise<void>;
  /** Whether it can be read and written, as far as the last write and the last look at it say. Asks nobody. */
  health(): StoreHealth;
  onHealth(listener: StoreHealthListener): () => void;
  /** Counters for metrics and for the benchmark. */
  stats(): StoreStats;
  close(): Promise<void>;
}

export interface RecordKey {
  readonly kind: string;
  readonly id: string;
}

export interface StoredRecord extends RecordKey {
  /** Id of the record that this one goes with: deleted together with it. */
  readonly parent: string | null;
  readonly revision: number;
  readonly doc: JsonObject;
  /** Secret fields by name. Plain in memory, sealed at rest with the secret key. */
  readonly secrets: Secrets | null;
}

export type Secrets = Readonly<Record<string, string>>;

export interface WriteSet {
  /** Checked first. A write-set with expectations alone takes no revision: it only asks whether they hold. */
  readonly expect?: readonly Expectation[];
  readonly puts?: readonly RecordPut[];
  /** Takes the records and, by `parent`, everything below them. */
  readonly deletes?: readonly RecordKey[];
  /** Moves the records to this write's revision and leaves them otherwise as they are (a child of theirs went away). */
  readonly touches?: readonly RecordKey[];
  /** Unique-key scopes that this write must not leave empty, such as the API keys with all scopes. */
  readonly keepAtLeastOne?: readonly string[];
  /** Outbox rows, written with the change that they report, each with a delivery for every lane that wants it. */
  readonly events?: readonly OutboxEvent[];
  readonly idempotency?: IdempotencyRecord;
}

export interface Expectation extends RecordKey {
  /** A revision, or `'absent'`. */
  readonly revision: number | 'absent';
}

export interface RecordPut extends RecordKey {
  readonly parent: string | null;
  readonly doc: JsonObject;
  readonly secrets: Secrets | null;
  /** All unique keys of the record; those that it no longer lists are released. */
  readonly uniqueKeys: readonly UniqueKey[];
  /** All references of the record; every target must exist when the write is applied. */
  readonly references: readonly Reference[];
  /** The record must not reach itself by following references. */
  readonly isAcyclic?: boolean;
}

export interface UniqueKey {
  readonly scope: string;
  readonly key: string;
}

export interface Reference {
  /** The wire field that names the target, for messages. */
  readonly field: string;
  readonly to: RecordKey;
}

export interface IdempotencyRecord {
  /** Hash of (API key, method, path, idempotency key). */
  readonly scope: string;
  /** Keyed hash of the body: a plain one could be searched for a weak secret. */
  readonly bodyHash: string;
  /** What the first request made. */
  readonly kind: string;
  readonly id: string;
  readonly createdAtMs: number;
}

export type CommitResult =
  | { readonly ok: true; readonly revision: number; readonly changes: readonly Change[] }
  | ({ readonly ok: false } & CommitRefusal);

export type CommitRefusal =
  /** An expectation did not hold, or a record to delete or touch is absent (`actual: null`). */
  | { readonly reason: 'conflict'; readonly key: RecordKey; readonly actual: number | null }
  | { readonly reason: 'parent_missing'; readonly parent: string }
  | { readonly reason: 'unique_key_taken'; readonly uniqueKey: UniqueKey; readonly by: RecordKey }
  | { readonly reason: 'reference_missing'; readonly reference: Reference }
  /** `by` holds at most ten of the referring records. */
  | { readonly reason: 'still_referenced'; readonly key: RecordKey; readonly by: readonly Referrer[] }
  | { readonly reason: 'cycle'; readonly key: RecordKey }
  | { readonly reason: 'last_one'; readonly scope: string }
  | { readonly reason: 'idempotency_used'; readonly existing: IdempotencyRecord };

export interface Referrer extends RecordKey {
  readonly field: string;
}

export type Change =
  | { readonly op: 'put'; readonly record: StoredRecord }
  | { readonly op: 'delete'; readonly key: RecordKey; readonly revision: number };

export type ChangesSince =
  | { readonly isComplete: true; readonly revision: number; readonly changes: readonly Change[] }
  | { readonly isComplete: false };

export type CommitListener = (changes: readonly Change[]) => void;

/** A page of something listed newest first, by id in byte order. */
export interface PageQuery {
  /** Only ids below this one; the record itself may be gone. */
  readonly beforeId: string | null;
  readonly limit: number;
}

export type LeaseKind = 'tunnel_session' | 'tunnel' | 'endpoint' | 'node';

/** Something that is online for as long as its process says so. */
export interface Lease {
  readonly kind: LeaseKind;
  readonly id: string;
  /** What it goes with: a tunnel with its session, an endpoint with its tunnel. */
  readonly parent: string | null;
  /** The credential that it was opened with. */
  readonly credentialId: string | null;
  /** Boot id of the process that holds it; those of an earlier boot are void. */
  readonly bootId: string;
  readonly expiresAtMs: number;
  readonly doc: JsonObject;
}

export interface PresenceStore {
  put(leases: readonly Lease[]): Promise<void>;
  /** Moves the expiry of everything that this boot holds. */
  renew(bootId: string, expiresAtMs: number): Promise<void>;
  remove(keys: readonly { readonly kind: LeaseKind; readonly id: string }[]): Promise<void>;
  /** A session with its tunnels and their endpoints, for every session of the credential. Answers the sessions' ids. */
  removeByCredential(credentialId: string): Promise<readonly string[]>;
  /** Voids what other boots of the same process left behind. */
  removeOtherBoots(bootId: string): Promise<void>;
  /** As of the store: leases that this process has put may be gone. */
  onReset(relist: () => void): () => void;
  /** Online ones only: the lease has not run out at `nowMs`. */
  get(kind: LeaseKind, id: string, nowMs: number): Promise<Lease | null>;
  list(kind: LeaseKind, query: PageQuery & { readonly nowMs: number }): Promise<readonly Lease[]>;
}

export interface StoreStats {
  /** Write-sets applied, and the transactions (each with one fsync) that carried them. */
  readonly writeSets: number;
  readonly commits: number;
  /** Events that were recorded with them, by type. */
  readonly events: ReadonlyMap<string, number>;
  /** How often everything was read again because the database had gone back. */
  readonly resets: number;
}
