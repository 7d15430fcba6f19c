import type { PageQuery, StoredRecord } from '../store/store.ts';

/** Reads configuration records synchronously: from the replica, or from the replica overlaid with a pending write. */
export interface RecordReader {
  get(kind: string, id: string): StoredRecord | undefined;
  /** Newest first. */
  page(kind: string, query: PageQuery): readonly StoredRecord[];
  /** Children of one parent, newest first. */
  pageOfParent(kind: string, parent: string, query: PageQuery): readonly StoredRecord[];
}

/** Can also enumerate records. */
export interface BrowsableReader extends RecordReader {
  /** Kinds of current and past records, in no order, including those that this version does not know. */
  kinds(): Iterable<string>;
}
