import type { RecordReader } from '../../replica/record-reader.ts';
import type { PageQuery, RecordKey, StoredRecord } from '../../store/store.ts';

/** A record as a changeset leaves it; null: deleted. */
type Staged = StoredRecord | null;

/** The records as they will be after the operations so far: a layer over the replica. */
export class StagedRecords implements RecordReader {
  readonly #base: RecordReader;
  readonly #staged = new Map<string, Staged>();
  /** Ids of staged records, deleted ones too, by kind, and by kind and parent. */
  readonly #ofKind = new Map<string, Set<string>>();
  readonly #ofParent = new Map<string, Set<string>>();

  constructor(base: RecordReader) {
    this.#base = base;
  }

  get(kind: string, id: string): StoredRecord | undefined {
    const staged = this.#staged.get(keyOf(kind, id));
    return staged === undefined ? this.#base.get(kind, id) : (staged ?? undefined);
  }

  page(kind: string, query: PageQuery): readonly StoredRecord[] {
    return this.#merged(kind, this.#ofKind.get(kind), query, (wider) => this.#base.page(kind, wider));
  }

  pageOfParent(kind: string, parent: string, query: PageQuery): readonly StoredRecord[] {
    const staged = this.#ofParent.get(keyOf(kind, parent));
    const found = this.#merged(kind, staged, query, (wider) => this.#base.pageOfParent(kind, parent, wider));
    return found.filter((record) => record.parent === parent);
  }

  /** Whether the operations so far wrote or deleted it. */
  has({ kind, id }: RecordKey): boolean {
    return this.#staged.has(keyOf(kind, id));
  }

  put(record: StoredRecord): void {
    this.#set(record.kind, record.id, record.parent, record);
  }

  remove({ kind, id }: RecordKey): void {
    this.#set(kind, id, this.get(kind, id)?.parent ?? null, null);
  }

  #set(kind: string, id: string, parent: string | null, staged: Staged): void {
    this.#staged.set(keyOf(kind, id), staged);
    add(this.#ofKind, kind, id);
    if (parent !== null) add(this.#ofParent, keyOf(kind, parent), id);
  }

  #merged(
    kind: string,
    staged: ReadonlySet<string> | undefined,
    { beforeId, limit }: PageQuery,
    base: (query: PageQuery) => readonly StoredRecord[],
  ): readonly StoredRecord[] {
    if (staged === undefined) return base({ beforeId, limit });
    // Staged records may hide as many of the page.
    const known = base({ beforeId, limit: limit + staged.size }).filter(({ id }) => !staged.has(id));
    const own = [...staged]
      .filter((id) => beforeId === null || id < beforeId)
      .flatMap((id) => this.#staged.get(keyOf(kind, id)) ?? []);
    return [...known, ...own].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit);
  }
}

function keyOf(kind: string, id: string): string {
  return `${kind}\0${id}`;
}

function add(index: Map<string, Set<string>>, key: string, id: string): void {
  const ids = index.get(key);
  if (ids === undefined) index.set(key, new Set([id]));
  else ids.add(id);
}
