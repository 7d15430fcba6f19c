import type { BrowsableReader } from '../../store/replica/record-table.ts';
import type { Change, StoredRecord } from '../../store/store.ts';

/** Reads records and remembers which, so that a change recompiles only what had read it. */
export class TrackingReader {
  /**
   * Ids of records, and keys of lists of children. Ids are unique; if two kinds shared one, an edge would be compiled
   * once too often.
   */
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

function childrenKey(kind: string, parent: string): string {
  return `${kind} < ${parent}`;
}

/**
 * Which edges read which records when they were compiled. An edge may hold more keys than its served snapshot needs
 * while another one is being compiled: a superfluous key costs one compilation, a missing one would be a bug.
 */
export class EdgeDependencies {
  /** Most records are read by one edge: its id alone takes a tenth of the memory of a set. */
  readonly #dependents = new Map<string, string | Set<string>>();
  readonly #edgeKinds: ReadonlySet<string>;

  constructor(edgeKinds: Iterable<string>) {
    this.#edgeKinds = new Set(edgeKinds);
  }

  add(edgeId: string, keys: ReadonlySet<string>): void {
    for (const key of keys) {
      const dependents = this.#dependents.get(key);
      if (dependents === undefined) this.#dependents.set(key, edgeId);
      else if (typeof dependents !== 'string') dependents.add(edgeId);
      else if (dependents !== edgeId) this.#dependents.set(key, new Set([dependents, edgeId]));
    }
  }

  /** `kept` are still used by a snapshot that is served or about to be. */
  remove(edgeId: string, keys: ReadonlySet<string>, ...kept: readonly (ReadonlySet<string> | undefined)[]): void {
    for (const key of keys) {
      if (kept.some((still) => still?.has(key) === true)) continue;
      const dependents = this.#dependents.get(key);
      if (dependents === edgeId) this.#dependents.delete(key);
      if (typeof dependents !== 'object') continue;
      dependents.delete(edgeId);
      if (dependents.size === 0) this.#dependents.delete(key);
    }
  }

  edgesAffectedBy(changes: readonly Change[]): Set<string> {
    const affected = new Set<string>();
    const add = (key: string): void => {
      const dependents = this.#dependents.get(key);
      if (typeof dependents === 'string') affected.add(dependents);
      else for (const edgeId of dependents ?? []) affected.add(edgeId);
    };
    for (const change of changes) {
      const { kind, id } = change.op === 'put' ? change.record : change.key;
      if (this.#edgeKinds.has(kind)) affected.add(id);
      add(id);
      // An edge reads the modules of its owners, those that this version does not know included.
      add(ownerIdOf(id));
      // A new child affects the edges that listed its parent's children; a deleted child was itself read.
      const parent = change.op === 'put' ? change.record.parent : null;
      if (parent !== null) add(childrenKey(kind, parent));
    }
    return affected;
  }
}

/** The owner of a module's record, whether or not the module is known. */
function ownerIdOf(id: string): string {
  return id.slice(0, Math.max(id.lastIndexOf('.'), 0));
}
