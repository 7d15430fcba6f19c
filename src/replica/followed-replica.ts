import type { Change, StoredRecord } from '../store/store.ts';
import type { BrowsableReader } from './record-reader.ts';

export type ReplicaListener = (changes: readonly Change[]) => void;

/** The configuration in the memory of a thread: the replica itself, or a copy that follows it. */
export interface FollowedReplica extends BrowsableReader {
  all(kind: string): Iterable<StoredRecord>;
  /** Listeners are called after the replica shows the changes. Returns a function that stops listening. */
  onChange(listener: ReplicaListener, kinds?: Iterable<string>): () => void;
  /** Reads what other processes have written up to now. */
  refresh(): Promise<void>;
}
