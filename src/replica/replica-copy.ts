import type { Change, RecordKey, StoredRecord } from '../store/store.ts';
import { FollowedReplica } from './followed-replica.ts';

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
