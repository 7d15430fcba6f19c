import type { RecordReader } from '../../replica/record-reader.ts';
import type { PageQuery, RecordKey, StoredRecord } from '../../store/store.ts';

/** A record as a changeset leaves it; null: deleted. */
type Staged = StoredRecord | null;

/** The records as they will be after the operations so far: a layer over the replica. */
export class StagedRecords implements RecordReader {
  readonly #base: RecordReader;
  /** By kind and id: every operation reads some dozens of records, most of which are absent. */
  readonly #staged = new Map<string, Map<string, Staged>>();
  /** Ids of staged records, deleted ones too, by kind and parent. */
  readonly #ofParent = new Map<string, Map<string, Set<string>>>();

  constructor(base: RecordReader) {
    this.#base = base;
  }

  get(kind: string, id: string): StoredRecord | undefined {
    const staged = this.#staged.get(kind)?.get(id);
    return staged === undefined ? this.#base.get(kind, id) : (staged ?? undefined);
  }

  page(kind: string, query: PageQuery): readonly StoredRecord[] {
    const staged = this.#staged.get(kind);
    return this.#merged(kind, staged && [...staged.keys()], query, (wider) => this.#base.page(kind, wider));
  }

  pageOfParent(kind: string, parent: string, query: PageQuery): readonly StoredRecord[] {
    const staged = this.#ofParent.get(kind)?.get(parent);
    const ids = staged && [...staged];
    const found = this.#merged(kind, ids, query, (wider) => this.#base.pageOfParent(kind, parent, wider));
    return found.filter((record) => record.parent === parent);
  }

  /** Whether the operations so far wrote or deleted it. */
  has({ kind, id }: RecordKey): boolean {
    return this.#staged.get(kind)?.has(id) === true;
  }

  put(record: StoredRecord): void {
    this.#set(record.kind, record.id, record.parent, record);
  }

  remove({ kind, id }: RecordKey): void {
    this.#set(kind, id, this.get(kind, id)?.parent ?? null, null);
  }

  #set(kind: string, id: string, parent: string | null, staged: Staged): void {
    mapIn(this.#staged, kind).set(id, staged);
    if (parent === null) return;
    const ofKind = mapIn(this.#ofParent, kind);
    const siblings = ofKind.get(parent);
    if (siblings === undefined) ofKind.set(parent, new Set([id]));
    else siblings.add(id);
  }

  #merged(
    kind: string,
    staged: readonly string[] | undefined,
    { beforeId, limit }: PageQuery,
    base: (query: PageQuery) => readonly StoredRecord[],
  ): readonly StoredRecord[] {
    if (staged === undefined) return base({ beforeId, limit });
    const ofKind = this.#staged.get(kind);
    // Staged records may hide as many of the page.
    const known = base({ beforeId, limit: limit + staged.length }).filter(({ id }) => ofKind?.has(id) !== true);
    const own = staged.filter((id) => beforeId === null || id < beforeId).flatMap((id) => ofKind?.get(id) ?? []);
    return [...known, ...own].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit);
  }
}

function mapIn<Key, Value>(maps: Map<string, Map<Key, Value>>, name: string): Map<Key, Value> {
  let map = maps.get(name);
  if (map === undefined) {
    map = new Map();
    maps.set(name, map);
  }
  return map;
}
