import type { PageQuery, StoredRecord } from '../store/store.ts';

/** Reads configuration records without waiting: the replica, or the replica with a write that is about to be made laid over it. */
export interface RecordReader {
  get(kind: string, id: string): StoredRecord | undefined;
  /** Newest first. */
  page(kind: string, query: PageQuery): readonly StoredRecord[];
  /** Children of one parent, newest first. */
  pageOfParent(kind: string, parent: string, query: PageQuery): readonly StoredRecord[];
}

/** Also says what is there that nobody asked for by name. */
export interface BrowsableReader extends RecordReader {
  /** Of records that are or were there, in no order; those that this version does not know, too. */
  kinds(): Iterable<string>;
}
