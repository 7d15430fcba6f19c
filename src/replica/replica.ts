import type { Change, PageQuery, Store, StoredRecord } from '../store/store.ts';
import type { BrowsableReader } from './record-reader.ts';
import { RecordTable } from './record-table.ts';

export type ReplicaListener = (changes: readonly Change[]) => void;

/**
 * All configuration in memory, following the store's change feed. The API reads from it, and the edge's snapshots are
 * compiled from it, so neither waits for a database.
 *
 * A commit of this process is applied before its promise resolves: a writer reads its own write. A commit of another
 * process (PostgreSQL only) arrives by signal or, at the latest, with the next poll. Writes do not trust the replica:
 * they carry expectations that the store checks, and are retried after `refresh()`.
 */
export class Replica implements BrowsableReader {
  readonly #store: Store;
  readonly #listeners = new Set<ReplicaListener>();
  #table = new RecordTable();
  /** Everything up to this revision is applied. */
  #revision = 0;
  /**
   * Changes of this process beyond that revision: another process wrote in between, and the feed has not delivered that
   * yet.
   */
  #ahead: readonly Change[] = [];
  #refreshing: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  #unsubscribe: () => void = () => {};
  #stopResets: () => void = () => {};
  #isClosed = false;

  private constructor(store: Store) {
    this.#store = store;
  }

  static async open(store: Store): Promise<Replica> {
    const replica = new Replica(store);
    // Subscribes first: commits during the initial read must not be missed.
    replica.#unsubscribe = store.onCommitted(
      (changes) => replica.#onCommitted(changes),
      () => replica.#revision,
    );
    replica.#stopResets = store.onReset(() => replica.#reset());
    await replica.#readAll();
    await replica.refresh();
    return replica;
  }

  get revision(): number {
    return this.#revision;
  }

  kinds(): Iterable<string> {
    return this.#table.kinds();
  }

  get(kind: string, id: string): StoredRecord | undefined {
    return this.#table.get(kind, id);
  }

  page(kind: string, query: PageQuery): readonly StoredRecord[] {
    return this.#table.page(kind, query);
  }

  pageOfParent(kind: string, parent: string, query: PageQuery): readonly StoredRecord[] {
    return this.#table.pageOfParent(kind, parent, query);
  }

  all(kind: string): Iterable<StoredRecord> {
    return this.#table.all(kind);
  }

  count(kind: string): number {
    return this.#table.count(kind);
  }

  counts(): ReadonlyMap<string, number> {
    return this.#table.counts();
  }

  /** Listeners are called after the replica shows the changes. */
  onChange(listener: ReplicaListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
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
    this.#listeners.clear();
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
    const first = revisionOf(changes[0] as Change);
    if (first > this.#revision + 1) {
      // Another process wrote in between. Our changes are applied now regardless: writers read their own writes.
      this.#ahead = [...this.#ahead, ...changes];
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
    // Overtaken by local commits: an older put must not restore a record that they deleted.
    if (answer.revision > this.#revision) this.#advance(answer.changes, answer.revision);
  }

  /** Applies everything up to `revision`, then again this process's later changes, which are newer. */
  #advance(changes: readonly Change[], revision: number): void {
    this.#revision = revision;
    this.#ahead = this.#ahead.filter((change) => revisionOf(change) > revision);
    this.#show([...changes, ...this.#ahead]);
  }

  #show(changes: readonly Change[]): void {
    for (const change of changes) this.#table.apply(change);
    this.#tell(changes);
  }

  async #readAll(): Promise<void> {
    const { table, revision } = await this.#readTable();
    if (revision < this.#revision) return;
    this.#replaceTable(table, revision, differences);
  }

  /** The store has another history: its revision may be lower, and an equal one says nothing about a record. */
  #reset(): Promise<void> {
    return this.#inTurn(async () => {
      const { table, revision } = await this.#readTable();
      this.#ahead = [];
      this.#replaceTable(table, revision, replacement);
    });
  }

  /** The table already contains every record: only changes beyond its revision are applied. */
  #replaceTable(table: RecordTable, revision: number, compare: typeof differences): void {
    const before = this.#table;
    this.#table = table;
    this.#revision = revision;
    this.#ahead = this.#ahead.filter((change) => revisionOf(change) > revision);
    for (const change of this.#ahead) table.apply(change);
    // At the start there are no listeners, and a list of all records would block the event loop.
    if (this.#listeners.size > 0) this.#tell([...compare(before, table, revision), ...this.#ahead]);
  }

  async #readTable(): Promise<{ readonly table: RecordTable; readonly revision: number }> {
    const table = new RecordTable();
    const { revision } = await this.#store.readAll((records) => {
      for (const record of records) table.put(record);
    });
    return { table, revision };
  }

  #tell(changes: readonly Change[]): void {
    if (changes.length === 0) return;
    for (const listener of this.#listeners) listener(changes);
  }
}

function revisionOf(change: Change): number {
  return change.op === 'put' ? change.record.revision : change.revision;
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
