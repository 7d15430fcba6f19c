import type { TimeSlice } from '../../kit/async/slices.ts';
import type { Change, PageQuery, StoredRecord } from '../store.ts';

/** A longer chunk is split: adding an id moves at most this many others. */
const MAX_CHUNK = 1_024;

/**
 * Ids in ascending byte order, in chunks. New ids are almost always the greatest (they are time-sortable), so adding is
 * mostly an append; ids of other nodes arrive in any order, and 100,000 of them must not cost 100,000 moves each.
 */
export class SortedIds {
  #chunks: string[][] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(id: string): void {
    const at = this.#chunkOf(id);
    const chunk = this.#chunks[at];
    if (chunk === undefined) {
      this.#chunks.push([id]);
      this.#size = 1;
      return;
    }
    const place = firstNotBelow(chunk, id);
    if (chunk[place] === id) return;
    if (place === chunk.length) chunk.push(id);
    else chunk.splice(place, 0, id);
    this.#size += 1;
    if (chunk.length <= MAX_CHUNK) return;
    // Full chunks at the end stay full: appending does not leave them half empty.
    const isLast = at === this.#chunks.length - 1;
    this.#chunks.splice(at + 1, 0, chunk.splice(isLast ? MAX_CHUNK : MAX_CHUNK / 2));
  }

  remove(id: string): void {
    const at = this.#chunkOf(id);
    const chunk = this.#chunks[at];
    if (chunk === undefined) return;
    const place = firstNotBelow(chunk, id);
    if (chunk[place] !== id) return;
    chunk.splice(place, 1);
    this.#size -= 1;
    if (chunk.length === 0) this.#chunks.splice(at, 1);
  }

  /** An independent list of the same ids. */
  copied(): SortedIds {
    const copy = new SortedIds();
    copy.#chunks = this.#chunks.map((chunk) => [...chunk]);
    copy.#size = this.#size;
    return copy;
  }

  /** At most `limit` ids below `beforeId`, greatest first. */
  descending(beforeId: string | null, limit: number): string[] {
    const found: string[] = [];
    let at = beforeId === null ? this.#chunks.length - 1 : this.#chunkOf(beforeId);
    let chunk = this.#chunks[at];
    let end = chunk === undefined || beforeId === null ? (chunk?.length ?? 0) : firstNotBelow(chunk, beforeId);
    while (chunk !== undefined && found.length < limit) {
      for (let place = end - 1; place >= 0 && found.length < limit; place -= 1) found.push(chunk[place] as string);
      at -= 1;
      chunk = this.#chunks[at];
      end = chunk?.length ?? 0;
    }
    return found;
  }

  /** The last chunk that starts at or below the id, or the first one. */
  #chunkOf(id: string): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#chunks[middle]?.[0] as string) <= id) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }
}

function firstNotBelow(ids: readonly string[], id: string): number {
  const last = ids.at(-1);
  if (last === undefined || last < id) return ids.length;
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ids[middle] as string) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function kindOf(change: Change): string {
  return change.op === 'put' ? change.record.kind : change.key.kind;
}

/** In slices. The changes of each kind keep their order. */
async function changesByKind(
  changes: readonly Change[],
  slice: TimeSlice,
): Promise<ReadonlyMap<string, readonly Change[]>> {
  const found = new Map<string, Change[]>();
  for (const change of changes) {
    const kind = kindOf(change);
    const ofKind = found.get(kind);
    if (ofKind === undefined) found.set(kind, [change]);
    else ofKind.push(change);
    if (slice.isOver) await slice.next();
  }
  return found;
}

/** The records of one kind. Putting or removing twice, or an older state late, is harmless. */
class KindTable {
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

/**
 * Fewer changes of a kind are applied at once: the table of a kind may have 100,000 records, all of which are copied.
 */
const MIN_PREPARED = 500;

/** The tables of some kinds as they will be after many changes. */
export interface PreparedChanges {
  readonly changes: readonly Change[];
  readonly tables: ReadonlyMap<string, KindTable>;
  /** The changes of other kinds. */
  readonly rest: readonly Change[];
  /** The state that they were made from. */
  readonly from: { readonly table: RecordTable; readonly version: number };
}

/** All records in memory, indexed as they are read. Applying a change twice, or an older one late, is harmless. */
export class RecordTable implements BrowsableReader {
  readonly #kinds = new Map<string, KindTable>();
  /** Counts changes. */
  #version = 0;

  kinds(): Iterable<string> {
    return this.#kinds.keys();
  }

  get(kind: string, id: string): StoredRecord | undefined {
    return this.#kinds.get(kind)?.byId.get(id);
  }

  page(kind: string, query: PageQuery): readonly StoredRecord[] {
    return this.#kinds.get(kind)?.page(query) ?? [];
  }

  pageOfParent(kind: string, parent: string, query: PageQuery): readonly StoredRecord[] {
    return this.#kinds.get(kind)?.pageOfParent(parent, query) ?? [];
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
    this.#version += 1;
    this.#table(record.kind).put(record);
  }

  /** In one step, so that no reader sees some of them. */
  applyAll(changes: readonly Change[], prepared: PreparedChanges | null = null): void {
    const isCurrent = prepared?.changes === changes && this.#isStill(prepared);
    this.#version += 1;
    for (const [kind, table] of isCurrent ? prepared.tables : []) {
      table.replacesOriginal();
      this.#kinds.set(kind, table);
    }
    for (const change of isCurrent ? prepared.rest : changes) {
      if (change.op === 'put') this.#table(change.record.kind).put(change.record);
      else this.#kinds.get(change.key.kind)?.remove(change.key.id, change.revision);
    }
  }

  /**
   * Makes the next tables of the kinds with many changes aside, in slices: applying them is then a matter of some
   * assignments.
   */
  async prepare(changes: readonly Change[], slice: TimeSlice): Promise<PreparedChanges> {
    const version = this.#version;
    const tables = new Map<string, KindTable>();
    const rest: Change[] = [];
    for (const [kind, ofKind] of await changesByKind(changes, slice)) {
      if (ofKind.length < MIN_PREPARED) {
        for (const change of ofKind) rest.push(change);
        continue;
      }
      const table = (await this.#kinds.get(kind)?.copied(slice)) ?? new KindTable();
      for (const change of ofKind) {
        if (change.op === 'put') table.put(change.record);
        else table.remove(change.key.id, change.revision);
        if (slice.isOver) await slice.next();
      }
      tables.set(kind, table);
    }
    return { changes, tables, rest, from: { table: this, version } };
  }

  #isStill({ from }: PreparedChanges): boolean {
    return from.table === this && from.version === this.#version;
  }

  /** The same, whatever the revisions are. */
  replaceAll(changes: readonly Change[]): void {
    this.#version += 1;
    for (const change of changes) {
      const { kind, id } = change.op === 'put' ? change.record : change.key;
      const known = this.get(kind, id);
      const isOlder = change.op === 'put' && known !== undefined && known.revision < change.record.revision;
      if (known !== undefined && !isOlder) this.#kinds.get(kind)?.remove(id, known.revision);
      if (change.op === 'put') this.#table(kind).put(change.record);
    }
  }

  #table(kind: string): KindTable {
    let table = this.#kinds.get(kind);
    if (table === undefined) {
      table = new KindTable();
      this.#kinds.set(kind, table);
    }
    return table;
  }
}

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
