import type { TimeSlice } from '../lib/async/slice-lane.ts';
import type { PageQuery, StoredRecord } from '../store/store.ts';
import { SortedIds } from './sorted-ids.ts';

/** The records of one kind. Putting or removing twice, or an older state late, is harmless. */
export class KindTable {
  readonly byId = new Map<string, StoredRecord>();
  #ids = new SortedIds();
  readonly #idsByParent = new Map<string, SortedIds>();
  /** Lists that another table has too: they are copied before they change. */
  #shared: Set<SortedIds> | null = null;

  page({ beforeId, limit }: PageQuery): readonly StoredRecord[] {
    return this.#pick(this.#ids, beforeId, limit);
  }

  pageOfParent(parent: string, { beforeId, limit }: PageQuery): readonly StoredRecord[] {
    const ids = this.#idsByParent.get(parent);
    return ids === undefined ? [] : this.#pick(ids, beforeId, limit);
  }

  put(record: StoredRecord): void {
    const known = this.byId.get(record.id);
    if (known !== undefined && known.revision >= record.revision) return;
    this.byId.set(record.id, record);
    if (known !== undefined) return;
    this.#ids.add(record.id);
    if (isIndexedByParent(record)) this.#siblings(record.parent).add(record.id);
  }

  remove(id: string, revision: number): void {
    const known = this.byId.get(id);
    if (known === undefined || known.revision > revision) return;
    this.byId.delete(id);
    this.#ids.remove(id);
    if (!isIndexedByParent(known)) return;
    const others = this.#siblings(known.parent);
    others.remove(id);
    if (others.size === 0) this.#idsByParent.delete(known.parent);
  }

  /** A table with the same content, in slices. This one must not change meanwhile; the copy leaves it as it is. */
  async copied(slice: TimeSlice): Promise<KindTable> {
    const copy = new KindTable();
    for (const [id, record] of this.byId) {
      copy.byId.set(id, record);
      if (slice.isOver) await slice.next();
    }
    copy.#ids = this.#ids.copied();
    copy.#shared = new Set();
    for (const [parent, ids] of this.#idsByParent) {
      copy.#idsByParent.set(parent, ids);
      copy.#shared.add(ids);
      if (slice.isOver) await slice.next();
    }
    return copy;
  }

  /** The table that this one was copied from is no longer used. */
  replacesOriginal(): void {
    this.#shared = null;
  }

  #pick(ids: SortedIds, beforeId: string | null, limit: number): readonly StoredRecord[] {
    return ids.descending(beforeId, limit).map((id) => this.byId.get(id) as StoredRecord);
  }

  #siblings(parent: string): SortedIds {
    let ids = this.#idsByParent.get(parent);
    if (ids !== undefined && this.#shared?.has(ids) !== true) return ids;
    ids = ids === undefined ? new SortedIds() : ids.copied();
    this.#idsByParent.set(parent, ids);
    return ids;
  }
}

/** A module's record is found by its id, which starts with its owner's: an index by parent would only cost memory. */
function isIndexedByParent(record: StoredRecord): record is StoredRecord & { parent: string } {
  return record.parent !== null && !record.id.startsWith(record.parent);
}
