import type { Replica } from '../replica/replica.ts';
import type { Change } from '../store/store.ts';
import { compileEdge, type Definitions } from './compile-edge.ts';
import type { EdgeSnapshot } from './edge-snapshot.ts';
import { HostTable } from './host-table.ts';
import { childrenKey, recordKey, TrackingReader } from './tracking-reader.ts';

const EDGE_KIND = 'https_edge';

export type SnapshotListener = (edgeId: string, now: EdgeSnapshot | null, before: EdgeSnapshot | null) => void;

/**
 * What the edge serves from: a snapshot per edge, found by host. A change compiles anew only the edges that had looked at
 * the changed record, so its cost does not grow with the number of edges, and other hosts notice nothing. It runs inside the
 * replica's listener, which runs before the write is answered: when a write answers 2xx, this process already serves it.
 */
export class Snapshots {
  readonly #replica: Replica;
  readonly #definitions: Definitions;
  readonly #edges = new Map<string, EdgeSnapshot>();
  readonly #hosts = new HostTable<EdgeSnapshot>();
  readonly #dependenciesOf = new Map<string, ReadonlySet<string>>();
  readonly #dependents = new Map<string, Set<string>>();
  readonly #listeners = new Set<SnapshotListener>();
  readonly #unsubscribe: () => void;

  constructor(replica: Replica, definitions: Definitions) {
    this.#replica = replica;
    this.#definitions = definitions;
    for (const record of replica.all(EDGE_KIND)) this.#compile(record.id);
    this.#unsubscribe = replica.onChange((changes) => this.#follow(changes));
  }

  find(host: string): EdgeSnapshot | undefined {
    return this.#hosts.find(host);
  }

  get(edgeId: string): EdgeSnapshot | undefined {
    return this.#edges.get(edgeId);
  }

  all(): Iterable<EdgeSnapshot> {
    return this.#edges.values();
  }

  onSwap(listener: SnapshotListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#unsubscribe();
    this.#listeners.clear();
  }

  #follow(changes: readonly Change[]): void {
    const affected = new Set<string>();
    for (const change of changes) {
      const { kind, id } = change.op === 'put' ? change.record : change.key;
      if (kind === EDGE_KIND) affected.add(id);
      for (const edgeId of this.#dependents.get(recordKey(kind, id)) ?? []) affected.add(edgeId);
      // A new child is seen by whoever listed its parent's children; one that goes was itself looked at.
      const parent = change.op === 'put' ? change.record.parent : null;
      if (parent !== null)
        for (const edgeId of this.#dependents.get(childrenKey(kind, parent)) ?? []) affected.add(edgeId);
    }
    // Hosts can move from one edge to another in one batch: all old names go before new ones come.
    const swaps = [...affected].map((edgeId) => ({ edgeId, before: this.#forget(edgeId) }));
    for (const { edgeId } of swaps) this.#compile(edgeId);
    // A new exact name takes its host from a wildcard's edge, which looks at its requests again.
    for (const edge of this.#shadowedBy(swaps)) swaps.push({ edgeId: edge.id, before: edge });
    for (const { edgeId, before } of swaps) {
      for (const listener of this.#listeners) listener(edgeId, this.#edges.get(edgeId) ?? null, before);
    }
  }

  #shadowedBy(swaps: readonly { edgeId: string; before: EdgeSnapshot | null }[]): ReadonlySet<EdgeSnapshot> {
    const shadowed = new Set<EdgeSnapshot>();
    for (const { edgeId, before } of swaps) {
      for (const host of this.#edges.get(edgeId)?.hosts ?? []) {
        const wildcard = before?.hosts.includes(host) === true ? undefined : this.#hosts.findWildcard(host);
        if (wildcard !== undefined && swaps.every((swap) => swap.edgeId !== wildcard.id)) shadowed.add(wildcard);
      }
    }
    return shadowed;
  }

  #forget(edgeId: string): EdgeSnapshot | null {
    const before = this.#edges.get(edgeId) ?? null;
    for (const host of before?.hosts ?? []) this.#hosts.delete(host);
    this.#edges.delete(edgeId);
    for (const key of this.#dependenciesOf.get(edgeId) ?? []) {
      const dependents = this.#dependents.get(key);
      dependents?.delete(edgeId);
      if (dependents?.size === 0) this.#dependents.delete(key);
    }
    this.#dependenciesOf.delete(edgeId);
    return before;
  }

  #compile(edgeId: string): void {
    const reader = new TrackingReader(this.#replica);
    const snapshot = compileEdge(edgeId, reader, this.#definitions);
    if (snapshot === null) return;
    this.#edges.set(edgeId, snapshot);
    for (const host of snapshot.hosts) this.#hosts.set(host, snapshot);
    this.#dependenciesOf.set(edgeId, reader.dependencies);
    for (const key of reader.dependencies) {
      const dependents = this.#dependents.get(key);
      if (dependents === undefined) this.#dependents.set(key, new Set([edgeId]));
      else dependents.add(edgeId);
    }
  }
}
