import type { JsonObject } from '../kit/json.ts';
import type { LoginStore } from '../modules/contract/login-store.ts';
import type { DeliveryStore, EventStore, OutboxEvent } from './delivery-store.ts';
import type { ChangeNote, HistoryStore } from './history-store.ts';
import type { EndedPerson, IdentityStore } from './identity-store.ts';
import type { NodeStore } from './node-store.ts';
import type { PendingRefusal, Settlement } from './own-records.ts';
import type { CommitMark } from './sql/commit-rows.ts';
import type { StoreHealth, StoreHealthListener } from './store-health.ts';
import type { PageQuery, RecordKey, Secrets, StoredRecord } from './stored-record.ts';

export type * from '../modules/contract/login-store.ts';
export type * from './delivery-store.ts';
export type * from './history-store.ts';
export type * from './identity-store.ts';
export type { CommitMark } from './sql/commit-rows.ts';
export type { StoreHealth, StoreState } from './store-health.ts';
export type * from './stored-record.ts';

/**
 * The store's interface. Two engines implement it (`sqlite/`, `postgres/`); `test/store/conformance` tests both.
 *
 * Configuration is records: `(kind, id) → document, revision`. Every write is one declarative `WriteSet`, judged and
 * applied inside one transaction under the lock of the revision counter: expectations, unique keys, references,
 * parents, cycles and the outbox all hold or nothing happens. A write set that changes something takes the next
 * revision, so revisions are gapless and totally ordered. Declarative, because an interactive transaction would hold
 * the writers' lock across message round trips, and could not be grouped with concurrent writers.
 *
 * Live state (leases, logins, deliveries, sessions at the identity host) has its own tables and no revision: the change
 * feed must not carry heartbeats.
 */
export interface Store {
  readonly engine: 'sqlite' | 'postgres';
  readonly sharing: StoreSharing;

  /** Applies the write set durably: once this resolves with `ok`, the change survives `kill -9` and power loss. */
  commit(writeSet: WriteSet): Promise<CommitResult>;
  /**
   * A new commit, which no other store and no earlier copy of this one contains: proves to another process that it has
   * opened the same store. Rejects when the files or the history of the store are no longer the ones that were opened.
   */
  mark(): Promise<CommitMark>;
  /** The newest committed revision, by any process. */
  currentRevision(): Promise<number>;
  /** All records in batches, in one consistent view; `revision` is the revision of the view. */
  readAll(onBatch: (records: readonly StoredRecord[]) => void): Promise<{ readonly revision: number }>;
  /**
   * Changes after `revision`. `isComplete: false` when the feed does not reach back that far: read everything again.
   */
  changesSince(revision: number): Promise<ChangesSince>;
  /**
   * Called when there may be news: with the changes when this process committed them (ascending, gapless among
   * themselves), without changes when another process did. A lost call costs only latency: followers also poll.
   * Listeners run before the promise of the causing commit resolves, once for all commits that became known together.
   */
  onCommitted(listener: CommitListener, follower?: CommitFollower): () => void;

  /**
   * Called when the database turns out to lack what this process has seen: it failed over to a lagging server, or was
   * restored to an earlier time. Everything in memory that came from the store must be read again. Writes are rejected,
   * and this is called again after a failure, until all listeners have succeeded.
   */
  onReset(reload: (cause: Error) => void | Promise<void>): () => void;

  /** When it was opened, the database lacked commits that were acknowledged before: what is gone and what to do. */
  readonly loss: string | null;

  findIdempotency(scope: string): Promise<IdempotencyRecord | null>;
  /** Fingerprints of the secret keys, as configured: the first one is used unless `useSecretKey` says otherwise. */
  readonly secretKeyIds: readonly string[];
  /** The one that is used. */
  readonly secretKeyId: string;
  /** What other nodes could not open must not be written. */
  useSecretKey(keyId: string): void;
  /** Account id, created with the store. */
  readonly accountId: string;
  /**
   * HMAC-SHA256 under a key derived from the secret key for this purpose, in hex: for hashes that must not be
   * guessable.
   */
  mac(purpose: string, data: string): string;
  /** Authenticated encryption of values that leave the process, such as a cookie, bound to their purpose. */
  seal(purpose: string, text: string): string;
  /** Null unless it was sealed for this purpose with a known key. */
  open(purpose: string, sealed: string): string | null;

  readonly events: EventStore;
  readonly presence: PresenceStore;
  readonly nodes: NodeStore;
  readonly logins: LoginStore;
  readonly deliveries: DeliveryStore;
  readonly history: HistoryStore;
  readonly identity: IdentityStore;

  /**
   * Deletes what has aged out: change rows behind the horizon (of records and of logins), idempotency records, expired
   * leases, nodes that have been lost for ten minutes.
   */
  prune(nowMs: number): Promise<void>;
  /** Whether the store is readable and writable, according to the last write and the last probe. Performs no I/O. */
  health(): StoreHealth;
  onHealth(listener: StoreHealthListener): () => void;
  /** Counters for metrics and for the benchmark. */
  stats(): StoreStats;
  close(): Promise<void>;
}

/**
 * Whether another process may write to the store. With PostgreSQL always. With SQLite one process owns the data
 * directory; while it hands over to the next one, both write, each after the other, and each follows the other's
 * commits.
 */
export interface StoreSharing {
  readonly isShared: boolean;
  /** Another process is about to open the store. */
  begin(): void;
  /** The other process is gone. */
  end(): void;
  /** For the process that takes over: resolves when the one before it is gone, and this one owns the store. */
  own(): Promise<void>;
}

export interface WriteSet {
  /** The store's revision must be this one: nothing else was written since. */
  readonly expectRevision?: number;
  /** Judges as for a real write, and writes nothing. */
  readonly isDryRun?: boolean;
  /** Who makes the change, and why: with it, the change gets an entry in the history. */
  readonly note?: ChangeNote;
  /** The change waits for its confirmation this long. Needs a note; nothing else may wait. */
  readonly confirmWithinMs?: number;
  /**
   * Kinds whose earlier documents the record of the wait has (`earlierDocument`): they decide about rights, and where
   * secrets go.
   */
  readonly remembers?: readonly string[];
  /**
   * Ends the wait of a change: deletes `PENDING_CHANGE`, and may write to the documents that it holds. Needs a note.
   */
  readonly settles?: Settlement;
  /** Checked first. A write set with expectations alone takes no revision: it only checks them. */
  readonly expect?: readonly Expectation[];
  readonly puts?: readonly RecordPut[];
  /** Deletes the records and, by `parent`, all descendants. */
  readonly deletes?: readonly RecordDelete[];
  /** Moves the records to this write's revision and changes nothing else (a child was deleted). */
  readonly touches?: readonly RecordKey[];
  /** Gives something by these records without changing them: refused while a pending change holds one of them. */
  readonly concerns?: readonly RecordKey[];
  /** Unique-key scopes that this write must not leave empty, such as the API keys with all scopes. */
  readonly keepAtLeastOne?: readonly string[];
  /** Outbox rows, written with the change that they report, each with a delivery for every lane that wants it. */
  readonly events?: readonly OutboxEvent[];
  readonly idempotency?: IdempotencyRecord;
  /**
   * Ends, with this write, everything that these people are logged in to: at the identity host, at its applications,
   * and on routes. Their records are changed by `puts` and `deletes`.
   */
  readonly endsPeople?: readonly EndedPerson[];
}

export interface Expectation extends RecordKey {
  /** A revision, or `'absent'`. */
  readonly revision: number | 'absent';
}

export interface RecordPut extends RecordKey {
  readonly parent: string | null;
  readonly doc: JsonObject;
  readonly secrets: Secrets | null;
  /** All unique keys of the record; keys that it no longer lists are released. */
  readonly uniqueKeys: readonly UniqueKey[];
  /** All references of the record; every target must exist when the write is applied. */
  readonly references: readonly Reference[];
  /** The record must not reach itself by following references. */
  readonly isAcyclic?: boolean;
  /**
   * Lets more data flow, or to another place, which was allowed in the state of this revision: a conflict if anything
   * that refers to the record has changed since. Refused if the revert of a pending change decides what flows where.
   */
  readonly armedAsOf?: number;
  /** Only takes rights away: a pending change lets go of the record. */
  readonly isRevocation?: boolean;
}

export interface RecordDelete extends RecordKey {
  /** Only takes rights away: a pending change lets go of the record and of all below it. */
  readonly isRevocation?: boolean;
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
  /** Keyed hash of the body: a plain hash could be used to guess a weak secret. */
  readonly bodyHash: string;
  /** What the first request created. */
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
  /** `expectRevision` did not hold. */
  | { readonly reason: 'revision_moved'; readonly revision: number }
  | { readonly reason: 'parent_missing'; readonly parent: string }
  | { readonly reason: 'unique_key_taken'; readonly uniqueKey: UniqueKey; readonly by: RecordKey }
  | { readonly reason: 'reference_missing'; readonly reference: Reference }
  /** `by` lists at most ten of the referring records. */
  | { readonly reason: 'still_referenced'; readonly key: RecordKey; readonly by: readonly Referrer[] }
  | { readonly reason: 'cycle'; readonly key: RecordKey }
  | { readonly reason: 'last_one'; readonly scope: string }
  | { readonly reason: 'idempotency_used'; readonly existing: IdempotencyRecord }
  | PendingRefusal;

interface Referrer extends RecordKey {
  readonly field: string;
}

export type Change =
  | { readonly op: 'put'; readonly record: StoredRecord }
  | { readonly op: 'delete'; readonly key: RecordKey; readonly revision: number };

export type ChangesSince =
  | { readonly isComplete: true; readonly revision: number; readonly changes: readonly Change[] }
  | { readonly isComplete: false };

export type CommitListener = (changes: readonly Change[]) => void;

export interface CommitFollower {
  /**
   * The revision that it has read up to: it is called with every poll until it has caught up, so a failed read is
   * repeated.
   */
  readonly applied?: () => number;
  /** Before it is called with the changes of a large commit: this may take several turns of the event loop. */
  readonly prepare?: (changes: readonly Change[]) => Promise<void>;
}

export type LeaseKind = 'tunnel_session' | 'tunnel' | 'endpoint' | 'node' | 'farewell';

/** An object that is online as long as its process renews it. */
export interface Lease {
  readonly kind: LeaseKind;
  readonly id: string;
  /** The lease that it depends on: a tunnel's session, an endpoint's tunnel. */
  readonly parent: string | null;
  /** The credential that opened it. */
  readonly credentialId: string | null;
  /** Boot id of the owning process; leases of an earlier boot are void. */
  readonly bootId: string;
  readonly expiresAtMs: number;
  readonly doc: JsonObject;
}

export interface PresenceStore {
  put(leases: readonly Lease[]): Promise<void>;
  /** Extends every lease of this boot. */
  renew(bootId: string, expiresAtMs: number): Promise<void>;
  remove(keys: readonly { readonly kind: LeaseKind; readonly id: string }[]): Promise<void>;
  /** Removes every session of the credential, with its tunnels and their endpoints. Returns the sessions' ids. */
  removeByCredential(credentialId: string): Promise<readonly string[]>;
  /** Removes leases left by other boots of the same process. */
  removeOtherBoots(bootId: string): Promise<void>;
  /** As in the store: leases of this process may be gone. */
  onReset(relist: () => void): () => void;
  /** Online ones only: the lease has not expired at `nowMs`. */
  get(kind: LeaseKind, id: string, nowMs: number): Promise<Lease | null>;
  list(kind: LeaseKind, query: PageQuery & { readonly nowMs: number }): Promise<readonly Lease[]>;
}

interface StoreStats {
  /** Applied write sets, and the transactions (each with one fsync) that contained them. */
  readonly writeSets: number;
  readonly commits: number;
  /** Recorded events of those, by type. */
  readonly events: ReadonlyMap<string, number>;
  /** How often everything was read again because the database had gone back. */
  readonly resets: number;
}

/** The revision that made the change. */
export function revisionOf(change: Change): number {
  return change.op === 'put' ? change.record.revision : change.revision;
}
