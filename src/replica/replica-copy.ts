import type { Change, PageQuery, RecordKey, StoredRecord } from '../store/store.ts';
import { kindOf } from './changes-by-kind.ts';
import type { FollowedReplica, ReplicaListener } from './followed-replica.ts';
import { RecordTable } from './record-table.ts';

/** The configuration in another thread, which hears what the replica shows, in the same order. */
export class ReplicaCopy implements FollowedReplica {
  readonly #table = new RecordTable();
  /** With the kinds that each one follows; null: all. */
  readonly #listeners = new Map<ReplicaListener, ReadonlySet<string> | null>();
  readonly #refresh: () => Promise<void>;
  /** What was shown while the table is being filled: the records that come after it may be older. Null: it is filled. */
  #shownEarly: Set<string> | null = new Set();

  /** `refresh` resolves after this copy shows everything that the replica has read. */
  constructor(refresh: () => Promise<void>) {
    this.#refresh = refresh;
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

  onChange(listener: ReplicaListener, kinds?: Iterable<string>): () => void {
    this.#listeners.set(listener, kinds === undefined ? null : new Set(kinds));
    return () => this.#listeners.delete(listener);
  }

  refresh(): Promise<void> {
    return this.#refresh();
  }

  /** Before anybody listens. */
  fill(records: readonly StoredRecord[]): void {
    for (const record of records) if (this.#shownEarly?.has(keyOf(record)) !== true) this.#table.put(record);
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
    this.#table.replaceAll(changes);
    for (const [listener, kinds] of this.#listeners) {
      const followed = kinds === null ? changes : changes.filter((change) => kinds.has(kindOf(change)));
      if (followed.length > 0) listener(followed);
    }
  }
}

function keyOf({ kind, id }: RecordKey): string {
  return `${kind} ${id}`;
}
