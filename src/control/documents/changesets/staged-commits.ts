import type { EndedPerson } from '../../../store/identity-store.ts';
import type { RecordReader } from '../../../store/replica/record-table.ts';
import type {
  Change,
  CommitRefusal,
  CommitResult,
  Expectation,
  OutboxEvent,
  PageQuery,
  RecordDelete,
  RecordKey,
  StoredRecord,
} from '../../../store/store.ts';
import type { Catalog } from '../catalog.ts';
import type { PlacedPut, PlacedWriteSet } from '../record-puts.ts';

/** A record as a changeset leaves it; null: deleted. */
type Staged = StoredRecord | null;

/** The records as they will be after the operations so far: a layer over the replica. */
class StagedRecords implements RecordReader {
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

/** The number of an operation, and what it wrote: for a refusal of the store. */
interface Origin {
  readonly operation: number;
  readonly put: PlacedPut | null;
}

/**
 * Takes the write sets of a changeset's operations, shows each to the next one, and folds all into one. The store
 * judges the whole.
 */
export class StagedCommits {
  readonly records: StagedRecords;
  readonly #base: RecordReader;
  readonly #catalog: Catalog;
  /** The revision that staged records seem to have. */
  readonly #revision: number;
  readonly #expect: Expectation[] = [];
  readonly #puts = new Map<string, Origin & { readonly put: PlacedPut }>();
  readonly #deletes = new Map<string, Origin & { readonly key: RecordDelete }>();
  /** Operations that deleted a record, also one that this changeset had made. */
  readonly #deleters = new Map<string, number>();
  readonly #touches = new Map<string, RecordKey>();
  readonly #keepAtLeastOne = new Map<string, number>();
  readonly #events: OutboxEvent[] = [];
  readonly #endsPeople: EndedPerson[] = [];
  readonly #concerns = new Map<string, { readonly operation: number; readonly key: RecordKey }>();
  #operation = 0;
  #hasChanged = false;

  constructor(base: RecordReader, catalog: Catalog, revision: number) {
    this.#base = base;
    this.#catalog = catalog;
    this.#revision = revision;
    this.records = new StagedRecords(base);
  }

  /** The next commits belong to this operation. */
  begin(operation: number): void {
    this.#operation = operation;
    this.#hasChanged = false;
  }

  /** Whether the operation wrote or deleted something. */
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  commit(writeSet: PlacedWriteSet): Promise<CommitResult> {
    const { expect = [], puts = [], deletes = [], touches = [], keepAtLeastOne = [], events = [] } = writeSet;
    this.#endsPeople.push(...(writeSet.endsPeople ?? []));
    for (const key of writeSet.concerns ?? []) this.#concerns.set(textOf(key), { operation: this.#operation, key });
    const changes: Change[] = [];
    // A record of an earlier operation was checked when that read it. Before this one's own writes make it one of them.
    for (const each of expect) if (!this.records.has(each)) this.#expect.push(each);
    for (const key of deletes) changes.push(...this.#delete(key));
    for (const put of puts) changes.push(this.#put(put));
    if (changes.length > 0) this.#hasChanged = true;
    for (const key of touches) this.#touches.set(textOf(key), key);
    for (const scope of keepAtLeastOne) this.#keepAtLeastOne.set(scope, this.#operation);
    this.#events.push(...events);
    return Promise.resolve({ ok: true, revision: this.#revision, changes });
  }

  /** Everything as one write set. */
  folded(): PlacedWriteSet {
    const isGone = (key: RecordKey): boolean => this.records.get(key.kind, key.id) === undefined;
    return {
      expect: this.#expect,
      puts: [...this.#puts.values()].map(({ put }) => put),
      deletes: [...this.#deletes.values()].map(({ key }) => key),
      touches: [...this.#touches.values()].filter((key) => !isGone(key)),
      concerns: [...this.#concerns.values()].map(({ key }) => key),
      keepAtLeastOne: [...this.#keepAtLeastOne.keys()],
      events: this.#events,
      endsPeople: this.#endsPeople,
    };
  }

  /** What a reference lacks may be what an operation deleted: then that is the mistake. */
  explained(refusal: CommitRefusal): CommitRefusal {
    if (refusal.reason !== 'reference_missing') return refusal;
    const { to, field } = refusal.reference;
    if (!this.#deleters.has(textOf(to))) return refusal;
    const referrers = [...this.#puts.values()].filter(({ put }) => put.references.some((each) => each.to.id === to.id));
    return {
      reason: 'still_referenced',
      key: to,
      by: referrers.slice(0, 10).map(({ put: { kind, id } }) => ({ kind, id, field })),
    };
  }

  /** The operation that caused the refusal; null when none of them did alone. */
  causeOf(refusal: CommitRefusal): number | null {
    switch (refusal.reason) {
      case 'parent_missing':
        return this.#writerOf((put) => put.parent === refusal.parent);
      case 'unique_key_taken': {
        const { scope, key } = refusal.uniqueKey;
        return this.#writerOf((put) => put.uniqueKeys.some((each) => each.scope === scope && each.key === key));
      }
      case 'reference_missing': {
        const { to } = refusal.reference;
        return this.#writerOf((put) => put.references.some((each) => each.to.id === to.id));
      }
      case 'still_referenced':
        return this.#deleters.get(textOf(refusal.key)) ?? this.#deleterAbove(refusal.key);
      case 'cycle':
        return this.#puts.get(textOf(refusal.key))?.operation ?? null;
      case 'last_one':
        return this.#keepAtLeastOne.get(refusal.scope) ?? null;
      case 'change_pending': {
        const key = refusal.key === null ? '' : textOf(refusal.key);
        return this.#puts.get(key)?.operation ?? this.#deleters.get(key) ?? this.#concerns.get(key)?.operation ?? null;
      }
      case 'not_settled':
      case 'conflict':
      case 'revision_moved':
      case 'idempotency_used':
        return null;
    }
  }

  #put(given: PlacedPut): Change {
    const earlier = this.#puts.get(textOf(given))?.put;
    const put = earlier === undefined ? given : asOneWrite(earlier, given);
    const record: StoredRecord = { ...put, revision: this.#revision };
    this.#puts.set(textOf(put), { operation: this.#operation, put });
    this.records.put(record);
    return { op: 'put', record };
  }

  /** The store deletes what is stored below it; what this changeset added below it must go too. */
  #delete(key: RecordDelete): Change[] {
    const below = this.#childrenOf(key).flatMap((child) => this.#delete(child));
    this.#puts.delete(textOf(key));
    this.#touches.delete(textOf(key));
    this.#deleters.set(textOf(key), this.#operation);
    this.records.remove(key);
    if (this.#base.get(key.kind, key.id) !== undefined) {
      this.#deletes.set(textOf(key), { operation: this.#operation, put: null, key });
    }
    return [...below, { op: 'delete', key, revision: this.#revision }];
  }

  #childrenOf({ kind, id }: RecordKey): readonly RecordKey[] {
    const all = { beforeId: null, limit: Number.MAX_SAFE_INTEGER };
    const children = this.#catalog
      .childrenOf(kind)
      .flatMap((child) => this.records.pageOfParent(child.kind, id, all).map((record) => record as RecordKey));
    const modules = (this.#catalog.compiled.get(kind)?.modules ?? [])
      .map((module) => module.keyOn(id))
      .filter((module) => this.records.get(module.kind, module.id) !== undefined);
    const derived = (this.#catalog.compiled.get(kind)?.resource.derivedKinds ?? []).flatMap((each) =>
      this.records.pageOfParent(each, id, all),
    );
    return [...children, ...modules, ...derived].map((child) => ({ kind: child.kind, id: child.id }));
  }

  /** The last one: an earlier operation may have written another version of the same record. */
  #writerOf(isCause: (put: PlacedPut) => boolean): number | null {
    const found = [...this.#puts.values()].filter(({ put }) => isCause(put)).map(({ operation }) => operation);
    return found.length === 0 ? null : Math.max(...found);
  }

  #deleterAbove({ kind, id }: RecordKey): number | null {
    const parent = this.#base.get(kind, id)?.parent ?? null;
    const above = [...this.#deletes.values()].find(({ key }) => key.id === parent);
    return above?.operation ?? null;
  }
}

/** Two changes of one record take rights away if both do, and arm it if one does. */
function asOneWrite(earlier: PlacedPut, later: PlacedPut): PlacedPut {
  const { isRevocation, armedAsOf, ...put } = later;
  const armed = [armedAsOf, earlier.armedAsOf].filter((revision) => revision !== undefined);
  return {
    ...put,
    ...(armed.length > 0 && { armedAsOf: Math.min(...armed) }),
    ...(isRevocation === true && earlier.isRevocation === true && { isRevocation }),
  };
}

function textOf({ kind, id }: RecordKey): string {
  return `${kind}\0${id}`;
}
