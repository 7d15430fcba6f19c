import type { Change, PageQuery, StoredRecord } from '../store/store.ts';
import { kindOf } from './changes-by-kind.ts';
import type { BrowsableReader } from './record-reader.ts';
import { RecordTable } from './record-table.ts';

export type ReplicaListener = (changes: readonly Change[]) => void;

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
   * Listeners are called after the changes are shown. `kinds`: only with changes of these. Returns a function that stops
   * listening.
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
