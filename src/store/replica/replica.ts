import { SliceQueue, TimeSlice } from '../../kit/async/slices.ts';
import type { JsonObject } from '../../kit/json.ts';
import { type Change, type PageQuery, type RecordKey, revisionOf, type Store, type StoredRecord } from '../store.ts';
import { KeptState, type StateKeeper } from './kept-state.ts';
import { type BrowsableReader, kindOf, type PreparedChanges, RecordTable } from './record-table.ts';

type ReplicaListener = (changes: readonly Change[]) => void;

/** The configuration in the memory of a thread: the replica itself, or a copy that follows it. */
export abstract class FollowedReplica implements BrowsableReader {
  protected table = new RecordTable();
  /** With the kinds that each one follows; null: all. */
  readonly #listeners = new Map<ReplicaListener, ReadonlySet<string> | null>();

  /** Reads what other processes have written up to now. */
  abstract refresh(): Promise<void>;

  kinds(): Iterable<string> {
    return this.table.kinds();
  }

  get(kind: string, id: string): StoredRecord | undefined {
    return this.table.get(kind, id);
  }

  page(kind: string, query: PageQuery): readonly StoredRecord[] {
    return this.table.page(kind, query);
  }

  pageOfParent(kind: string, parent: string, query: PageQuery): readonly StoredRecord[] {
    return this.table.pageOfParent(kind, parent, query);
  }

  all(kind: string): Iterable<StoredRecord> {
    return this.table.all(kind);
  }

  /**
   * Listeners are called after the changes are shown. `kinds`: only with changes of these. Returns a function that
   * stops listening.
   */
  onChange(listener: ReplicaListener, kinds?: Iterable<string>): () => void {
    this.#listeners.set(listener, kinds === undefined ? null : new Set(kinds));
    return () => this.#listeners.delete(listener);
  }

  protected get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  protected forgetListeners(): void {
    this.#listeners.clear();
  }

  protected tell(changes: readonly Change[]): void {
    if (changes.length === 0) return;
    let byKind: Map<string, Change[]> | null = null;
    for (const [listener, kinds] of this.#listeners) {
      if (kinds === null) {
        listener(changes);
        continue;
      }
      byKind ??= Map.groupBy(changes, kindOf);
      const followed = byKind;
      const present = [...kinds].filter((kind) => followed.has(kind));
      const [only = ''] = present;
      if (present.length === 1) listener(followed.get(only) ?? []);
      else if (present.length > 1) listener(changes.filter((change) => kinds.has(kindOf(change))));
    }
  }
}

/** The configuration in another thread, which hears what the replica shows, in the same order. */
export class ReplicaCopy extends FollowedReplica {
  readonly #refresh: () => Promise<void>;
  /**
   * What was shown while the table is being filled: the records that come after it may be older. Null: it is filled.
   */
  #shownEarly: Set<string> | null = new Set();

  /** `refresh` resolves after this copy shows everything that the replica has read. */
  constructor(refresh: () => Promise<void>) {
    super();
    this.#refresh = refresh;
  }

  refresh(): Promise<void> {
    return this.#refresh();
  }

  /** Before anybody listens. */
  fill(records: readonly StoredRecord[]): void {
    for (const record of records) if (this.#shownEarly?.has(keyOf(record)) !== true) this.table.put(record);
  }

  /** There is no more to fill. */
  filled(): void {
    this.#shownEarly = null;
  }

  show(changes: readonly Change[]): void {
    if (this.#shownEarly !== null) {
      for (const change of changes) this.#shownEarly.add(keyOf(change.op === 'put' ? change.record : change.key));
    }
    // The replica may have gone back to an earlier state of the store: what it says is right.
    this.table.replaceAll(changes);
    this.tell(changes);
  }
}

function keyOf({ kind, id }: RecordKey): string {
  return `${kind} ${id}`;
}

interface SealedRecord {
  readonly kind: string;
  readonly id: string;
  readonly doc: JsonObject;
  /** JSON pointer of the secret inside the record, such as `/private_key`. */
  readonly field: string;
  readonly secret: string;
}

/**
 * Adds a record with one sealed secret. If another process was first, its record stays, and the replica shows it
 * afterwards.
 */
export async function addSealedRecord(
  store: Pick<Store, 'commit'>,
  replica: Pick<FollowedReplica, 'refresh'>,
  { kind, id, doc, field, secret }: SealedRecord,
): Promise<void> {
  const secrets = { [field]: JSON.stringify(secret) };
  await store.commit({
    expect: [{ kind, id, revision: 'absent' }],
    puts: [{ kind, id, parent: null, doc, secrets, uniqueKeys: [], references: [] }],
  });
  await replica.refresh();
}

/** What another node says that it, or the store, has: every change after one revision up to another. */
export interface HeardChanges {
  readonly after: number;
  readonly revision: number;
  readonly changes: readonly Change[];
}

/** New records that were heard of and not read yet. Others cannot be more than the records in memory. */
const MAX_HEARD = 10_000;
/** Applying them takes a millisecond. */
const MAX_UNPREPARED = 500;

/**
 * All configuration in memory, following the store's change feed. The API reads from it, and the edge's snapshots are
 * compiled from it, so neither waits for a database.
 *
 * A commit of this process is applied before its promise resolves: a writer reads its own write. A commit of another
 * process (PostgreSQL only) arrives by signal or, at the latest, with the next poll. Linked nodes tell each other of
 * their commits (`hear`): that is faster, and works without the database. Writes do not trust the replica: they carry
 * expectations that the store checks, and are retried after `refresh()`.
 */
export class Replica extends FollowedReplica {
  readonly #store: Store;
  readonly #queue = new SliceQueue();
  /** Many changes that are about to be shown. */
  #prepared: PreparedChanges | null = null;
  /** Everything up to this revision is applied. */
  #revision = 0;
  /**
   * Shown changes beyond that revision, the last one of each record: those of this process, because another process
   * wrote in between and the feed has not delivered that yet, and those that other nodes told.
   */
  #ahead = new Map<string, Change>();
  /** Everything up to this revision is shown. */
  #heardRevision = 0;
  #refreshing: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  #unsubscribe: () => void = () => {};
  #stopResets: () => void = () => {};
  #isClosed = false;
  readonly #kept = new Set<KeptState>();

  private constructor(store: Store) {
    super();
    this.#store = store;
  }

  static async open(store: Store): Promise<Replica> {
    const replica = new Replica(store);
    // Subscribes first: commits during the initial read must not be missed.
    replica.#unsubscribe = store.onCommitted((changes) => replica.#onCommitted(changes), {
      applied: () => replica.#revision,
      prepare: (changes) => replica.#prepare(changes),
    });
    replica.#stopResets = store.onReset(() => replica.#reset());
    await replica.#readAll();
    await replica.refresh();
    return replica;
  }

  get revision(): number {
    return this.#revision;
  }

  /** Everything up to this revision is shown; what is beyond `revision` was not read from the store yet. */
  get heardRevision(): number {
    return Math.max(this.#heardRevision, this.#revision);
  }

  /**
   * Shows what another node has told. False: changes before them are missing, so that the caller must catch up. Until
   * then only records that exist here change or end: a new one may refer to another that is missing.
   */
  hear({ after, revision, changes }: HeardChanges): boolean {
    if (this.#isClosed || revision <= this.#revision) return true;
    const isWhole = after <= this.heardRevision && this.#ahead.size + changes.length <= MAX_HEARD;
    const news = changes.filter((change) => this.#isNews(change, isWhole));
    for (const change of news) this.#ahead.set(keyTextOf(change), change);
    this.#keep(news, false);
    this.#show(news);
    if (isWhole) this.#heardRevision = Math.max(this.heardRevision, revision);
    return isWhole;
  }

  /** From now on, until its end, it can tell the state of each revision. */
  keepState(): StateKeeper {
    const kept = new KeptState(
      this.#revision,
      () => this.table,
      (ended) => this.#kept.delete(ended),
    );
    this.#kept.add(kept);
    return kept;
  }

  count(kind: string): number {
    return this.table.count(kind);
  }

  counts(): ReadonlyMap<string, number> {
    return this.table.counts();
  }

  /** Brings the replica up to date with the store. All callers that arrive during a refresh share the next one. */
  refresh(): Promise<void> {
    if (this.#refreshing === null) return this.#inTurn(() => this.#follow());
    this.#next ??= this.#afterwards(this.#refreshing);
    return this.#next;
  }

  close(): void {
    this.#isClosed = true;
    this.#unsubscribe();
    this.#stopResets();
    this.forgetListeners();
  }

  async #afterwards(refreshing: Promise<void>): Promise<void> {
    await refreshing.catch(() => {});
    this.#next = null;
    await this.#inTurn(() => this.#follow());
  }

  async #inTurn(read: () => Promise<void>): Promise<void> {
    // A failure is reported to the callers of that refresh; this caller gets its own.
    while (this.#refreshing !== null) await this.#refreshing.catch(() => {});
    this.#refreshing = read().finally(() => {
      this.#refreshing = null;
    });
    await this.#refreshing;
  }

  #onCommitted(changes: readonly Change[]): void {
    if (changes.length === 0) {
      // A failing store reports to its writers; the poll retries until this replica is up to date.
      void this.refresh().catch(() => {});
      return;
    }
    this.#keep(changes, true);
    const first = revisionOf(changes[0] as Change);
    if (first > this.#revision + 1) {
      // Another process wrote in between. Our changes are applied now regardless: writers read their own writes.
      for (const change of changes) this.#ahead.set(keyTextOf(change), change);
      if (first <= this.heardRevision + 1) this.#heardRevision = revisionOf(changes.at(-1) as Change);
      this.#show(changes);
      void this.refresh().catch(() => {});
      return;
    }
    const last = revisionOf(changes.at(-1) as Change);
    if (last > this.#revision) this.#advance(changes, last);
  }

  async #follow(): Promise<void> {
    if (this.#isClosed) return;
    const answer = await this.#store.changesSince(this.#revision);
    if (!answer.isComplete) {
      await this.#readAll();
      return;
    }
    await this.#prepare(answer.changes);
    // Overtaken by local commits: an older put must not restore a record that they deleted.
    if (answer.revision <= this.#revision) return;
    this.#keep(answer.changes, false);
    this.#advance(answer.changes, answer.revision);
  }

  #keep(changes: readonly Change[], isWhole: boolean): void {
    for (const kept of this.#kept) kept.see(changes, isWhole);
  }

  /** Applies everything up to `revision` that is not shown already. */
  #advance(changes: readonly Change[], revision: number): void {
    const isPhantom = this.#hasPhantom(changes, revision);
    const news =
      this.#ahead.size === 0 ? changes : changes.filter((change) => revisionOf(change) > this.#aheadOf(change));
    this.#revision = revision;
    this.#dropRead(revision);
    this.#show(news);
    if (isPhantom) void this.#inTurn(() => this.#replaceAll()).catch(() => {});
  }

  /** The revision of this record that is shown ahead of what was read; 0: none. */
  #aheadOf(change: Change): number {
    const shown = this.#ahead.get(keyTextOf(change));
    return shown === undefined ? 0 : revisionOf(shown);
  }

  /** A change that was heard of and is not in the store: a failover to a lagging server has lost it. */
  #hasPhantom(changes: readonly Change[], revision: number): boolean {
    const heard = [...this.#ahead].filter(([, change]) => revisionOf(change) <= revision);
    if (heard.length === 0) return false;
    const read = new Map(changes.map((change) => [keyTextOf(change), revisionOf(change)]));
    return heard.some(([key, change]) => (read.get(key) ?? 0) < revisionOf(change));
  }

  #dropRead(revision: number): void {
    for (const [key, change] of this.#ahead) if (revisionOf(change) <= revision) this.#ahead.delete(key);
  }

  /**
   * A message that was overtaken must not restore anything: what is shown has a higher revision, or is deleted by one.
   */
  #isNews(change: Change, isWhole: boolean): boolean {
    const { kind, id } = change.op === 'put' ? change.record : change.key;
    const shown = this.table.get(kind, id);
    const known = Math.max(this.#revision, shown?.revision ?? 0, this.#aheadOf(change));
    return revisionOf(change) > known && (isWhole || change.op === 'delete' || shown !== undefined);
  }

  #show(changes: readonly Change[]): void {
    this.table.applyAll(changes, this.#prepared);
    this.#prepared = null;
    this.tell(changes);
  }

  /** Everything that can be done in slices before many changes become visible in one step. */
  async #prepare(changes: readonly Change[]): Promise<void> {
    if (changes.length <= MAX_UNPREPARED || this.#isClosed) return;
    this.#prepared = await this.table.prepare(changes, new TimeSlice(this.#queue));
  }

  async #readAll(): Promise<void> {
    const { table, revision } = await this.#readTable();
    if (revision < this.#revision) return;
    this.#replaceTable(table, revision, differences);
  }

  /** The store has another history: its revision may be lower, and an equal one says nothing about a record. */
  #reset(): Promise<void> {
    return this.#inTurn(() => this.#replaceAll());
  }

  async #replaceAll(): Promise<void> {
    if (this.#isClosed) return;
    const { table, revision } = await this.#readTable();
    this.#ahead.clear();
    this.#heardRevision = 0;
    this.#replaceTable(table, revision, replacement);
  }

  /** The table already contains every record: only changes beyond its revision are applied. */
  #replaceTable(table: RecordTable, revision: number, compare: typeof differences): void {
    for (const kept of this.#kept) kept.lose();
    const before = this.table;
    this.table = table;
    this.#revision = revision;
    this.#dropRead(revision);
    const ahead = [...this.#ahead.values()];
    table.applyAll(ahead);
    // At the start there are no listeners, and a list of all records would block the event loop.
    if (this.hasListeners) this.tell([...compare(before, table, revision), ...ahead]);
  }

  async #readTable(): Promise<{ readonly table: RecordTable; readonly revision: number }> {
    const table = new RecordTable();
    const { revision } = await this.#store.readAll((records) => {
      for (const record of records) table.put(record);
    });
    return { table, revision };
  }
}

function keyTextOf(change: Change): string {
  const { kind, id } = change.op === 'put' ? change.record : change.key;
  return `${kind} ${id}`;
}

function differences(before: RecordTable, after: RecordTable, revision: number): Change[] {
  return replacement(before, after, revision).filter(
    (change) =>
      change.op === 'delete' || before.get(change.record.kind, change.record.id)?.revision !== change.record.revision,
  );
}

/** A put for every existing record, and a delete for every record that is gone. */
function replacement(before: RecordTable, after: RecordTable, revision: number): Change[] {
  const changes: Change[] = [];
  for (const kind of new Set([...before.counts().keys(), ...after.counts().keys()])) {
    for (const record of after.all(kind)) changes.push({ op: 'put', record });
    for (const record of before.all(kind)) {
      if (after.get(kind, record.id) === undefined) {
        changes.push({ op: 'delete', key: { kind, id: record.id }, revision });
      }
    }
  }
  return changes;
}
