import type { JsonObject } from '../../kit/json.ts';
import type { Change, PageQuery, RecordKey, Store, StoredRecord } from '../store.ts';
import { type BrowsableReader, kindOf, RecordTable } from './record-table.ts';

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

/** The configuration in another thread, which hears what the replica shows, in the same order. */
export class ReplicaCopy extends FollowedReplica {
  readonly #refresh: () => Promise<void>;
  /** What was shown while the table is being filled: the records that come after it may be older. Null: it is filled. */
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

/** Adds a record with one sealed secret. If another process was first, its record stays, and the replica shows it afterwards. */
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
