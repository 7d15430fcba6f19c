import type { TimeSlice } from '../lib/async/slice-lane.ts';
import type { Change, PageQuery, StoredRecord } from '../store/store.ts';
import { changesByKind } from './changes-by-kind.ts';
import { KindTable } from './kind-table.ts';
import type { BrowsableReader } from './record-reader.ts';

/** Fewer changes of a kind are applied at once: the table of a kind may have 100,000 records, all of which are copied. */
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

  /** Makes the next tables of the kinds with many changes aside, in slices: applying them is then a matter of some assignments. */
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
