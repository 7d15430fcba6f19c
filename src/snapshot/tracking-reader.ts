import type { BrowsableReader } from '../replica/record-reader.ts';
import type { StoredRecord } from '../store/store.ts';

/** Reads records and remembers which, so that a change recompiles only what had read it. */
export class TrackingReader {
  /** Ids of records, and keys of lists of children. Ids are unique; if two kinds shared one, an edge would be compiled once too often. */
  readonly dependencies = new Set<string>();
  readonly #reader: BrowsableReader;

  constructor(reader: BrowsableReader) {
    this.#reader = reader;
  }

  kinds(): Iterable<string> {
    return this.#reader.kinds();
  }

  get(kind: string, id: string): StoredRecord | undefined {
    this.dependencies.add(id);
    return this.#reader.get(kind, id);
  }

  /**
   * A record of a module, whose owner was read. Its key is not remembered: a change of it affects the edges that read
   * the owner. Most modules are absent, and their keys would be nine in ten.
   */
  getModule(kind: string, id: string): StoredRecord | undefined {
    return this.#reader.get(kind, id);
  }

  children(kind: string, parent: string): readonly StoredRecord[] {
    this.dependencies.add(childrenKey(kind, parent));
    const found = this.#reader.pageOfParent(kind, parent, { beforeId: null, limit: Number.MAX_SAFE_INTEGER });
    // A deletion names only the record, not its parent.
    for (const record of found) this.dependencies.add(record.id);
    return found;
  }
}

export function childrenKey(kind: string, parent: string): string {
  return `${kind} < ${parent}`;
}
