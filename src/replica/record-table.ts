import type { Change, PageQuery, StoredRecord } from '../store/store.ts';
import type { BrowsableReader } from './record-reader.ts';
import { SortedIds } from './sorted-ids.ts';

interface KindTable {
  readonly byId: Map<string, StoredRecord>;
  readonly ids: SortedIds;
  readonly idsByParent: Map<string, SortedIds>;
}

/** All records in memory, indexed as they are read. Applying a change twice, or an older one late, is harmless. */
export class RecordTable implements BrowsableReader {
  readonly #kinds = new Map<string, KindTable>();

  kinds(): Iterable<string> {
    return this.#kinds.keys();
  }

  get(kind: string, id: string): StoredRecord | undefined {
    return this.#kinds.get(kind)?.byId.get(id);
  }

  page(kind: string, query: PageQuery): readonly StoredRecord[] {
    const table = this.#kinds.get(kind);
    return table === undefined ? [] : pick(table, table.ids, query);
  }

  pageOfParent(kind: string, parent: string, query: PageQuery): readonly StoredRecord[] {
    const table = this.#kinds.get(kind);
    const ids = table?.idsByParent.get(parent);
    return table === undefined || ids === undefined ? [] : pick(table, ids, query);
  }

  all(kind: string): Iterable<StoredRecord> {
    return this.#kinds.get(kind)?.byId.values() ?? [];
  }

  count(kind: string): number {
    return this.#kinds.get(kind)?.byId.size ?? 0;
  }

  counts(): ReadonlyMap<string, number> {
    return new Map(Array.from(this.#kinds, ([kind, table]) => [kind, table.byId.size]));
  }

  put(record: StoredRecord): void {
    const table = this.#table(record.kind);
    const known = table.byId.get(record.id);
    if (known !== undefined && known.revision >= record.revision) return;
    table.byId.set(record.id, record);
    if (known !== undefined) return;
    table.ids.add(record.id);
    if (isIndexedByParent(record)) siblings(table, record.parent).add(record.id);
  }

  apply(change: Change): void {
    if (change.op === 'put') {
      this.put(change.record);
      return;
    }
    const table = this.#kinds.get(change.key.kind);
    const known = table?.byId.get(change.key.id);
    if (table === undefined || known === undefined || known.revision > change.revision) return;
    table.byId.delete(known.id);
    table.ids.remove(known.id);
    if (!isIndexedByParent(known)) return;
    const others = siblings(table, known.parent);
    others.remove(known.id);
    if (others.size === 0) table.idsByParent.delete(known.parent);
  }

  #table(kind: string): KindTable {
    let table = this.#kinds.get(kind);
    if (table === undefined) {
      table = { byId: new Map(), ids: new SortedIds(), idsByParent: new Map() };
      this.#kinds.set(kind, table);
    }
    return table;
  }
}

function pick(table: KindTable, ids: SortedIds, query: PageQuery): StoredRecord[] {
  return ids.descending(query.beforeId, query.limit).map((id) => table.byId.get(id) as StoredRecord);
}

/** A module's record is found by its id, which starts with its owner's: an index by parent would only cost memory. */
function isIndexedByParent(record: StoredRecord): record is StoredRecord & { parent: string } {
  return record.parent !== null && !record.id.startsWith(record.parent);
}

function siblings(table: KindTable, parent: string): SortedIds {
  let ids = table.idsByParent.get(parent);
  if (ids === undefined) {
    ids = new SortedIds();
    table.idsByParent.set(parent, ids);
  }
  return ids;
}
