import type { Replica } from '../replica/replica.ts';
import type { Change } from '../store/store.ts';
import { compileEdge, type Definitions } from './compile-edge.ts';
import { compileDetached, type DetachedEdge } from './detached-edge.ts';
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
  /** Edges that no record describes: addresses that agents made, for as long as they are there. */
  readonly #ephemeral = new Map<string, EdgeSnapshot>();
  readonly #ephemeralHosts = new Map<string, EdgeSnapshot>();
  readonly #plainHosts = new Map<string, EdgeSnapshot>();
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

  /** What serves a host over HTTPS. The name of an edge comes before that of an agent, and this before an edge's wildcard. */
  find(host: string): EdgeSnapshot | undefined {
    return this.#hosts.findExact(host) ?? this.#ephemeralHosts.get(host) ?? this.#hosts.findWildcard(host);
  }

  /** What serves a host over plain HTTP: never an edge. */
  findPlain(host: string): EdgeSnapshot | undefined {
    return this.#hosts.findExact(host) === undefined ? this.#plainHosts.get(host) : undefined;
  }

  /** The edge that answers for a host, by its name or by a wildcard, whatever agents have. */
  findEdge(host: string): { readonly edge: EdgeSnapshot; readonly isExact: boolean } | undefined {
    const exact = this.#hosts.findExact(host);
    const edge = exact ?? this.#hosts.findWildcard(host);
    return edge === undefined ? undefined : { edge, isExact: exact !== undefined };
  }

  all(): Iterable<EdgeSnapshot> {
    return this.#edges.values();
  }

  /** Made as all others are, and served only once it is added. */
  compileDetached(edge: DetachedEdge): EdgeSnapshot {
    return compileDetached(edge, this.#definitions);
  }

  addEphemeral(edge: EdgeSnapshot): void {
    this.#ephemeral.set(edge.id, edge);
    for (const host of edge.hosts) this.#ephemeralTable(edge).set(host, edge);
    this.#tell(edge.id, edge, null);
    // Its host was a wildcard's until now.
    const shadowed = edge.isPlain === true ? undefined : this.#hosts.findWildcard(edge.hosts[0] ?? '');
    if (shadowed !== undefined) this.#tell(shadowed.id, shadowed, shadowed);
  }

  removeEphemeral(edgeId: string): void {
    const edge = this.#ephemeral.get(edgeId);
    if (edge === undefined) return;
    this.#ephemeral.delete(edgeId);
    const table = this.#ephemeralTable(edge);
    for (const host of edge.hosts) if (table.get(host) === edge) table.delete(host);
    this.#tell(edgeId, null, edge);
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
      // A module that this version does not know can appear after nobody could have looked for it.
      for (const edgeId of this.#dependents.get(ownerKey(kind, id)) ?? []) affected.add(edgeId);
      // A new child is seen by whoever listed its parent's children; one that goes was itself looked at.
      const parent = change.op === 'put' ? change.record.parent : null;
      if (parent !== null)
        for (const edgeId of this.#dependents.get(childrenKey(kind, parent)) ?? []) affected.add(edgeId);
    }
    // Hosts can move from one edge to another in one batch: all old names go before new ones come.
    const swaps = [...affected].map((edgeId) => ({ edgeId, before: this.#forget(edgeId) }));
    for (const { edgeId } of swaps) this.#compile(edgeId);
    // A new exact name takes its host from a wildcard's edge or an agent, which look at their requests again.
    const shadowed = this.#shadowedBy(swaps);
    for (const { edgeId, before } of swaps) this.#tell(edgeId, this.#edges.get(edgeId) ?? null, before);
    for (const edge of shadowed) this.#tell(edge.id, edge, edge);
  }

  #tell(edgeId: string, now: EdgeSnapshot | null, before: EdgeSnapshot | null): void {
    for (const listener of this.#listeners) listener(edgeId, now, before);
  }

  #ephemeralTable(edge: EdgeSnapshot): Map<string, EdgeSnapshot> {
    return edge.isPlain === true ? this.#plainHosts : this.#ephemeralHosts;
  }

  #shadowedBy(swaps: readonly { edgeId: string; before: EdgeSnapshot | null }[]): ReadonlySet<EdgeSnapshot> {
    const shadowed = new Set<EdgeSnapshot>();
    for (const { edgeId, before } of swaps) {
      for (const host of this.#edges.get(edgeId)?.hosts ?? []) {
        if (before?.hosts.includes(host) === true) continue;
        const wildcard = this.#hosts.findWildcard(host);
        if (wildcard !== undefined && swaps.every((swap) => swap.edgeId !== wildcard.id)) shadowed.add(wildcard);
        for (const table of [this.#ephemeralHosts, this.#plainHosts]) {
          const ofAgent = table.get(host);
          if (ofAgent !== undefined) shadowed.add(ofAgent);
        }
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
    const snapshot = compileEdge(edgeId, reader, this.#definitions, 'operator');
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

/** Of a module's record, whether or not the module is known: the record that it belongs to. */
function ownerKey(kind: string, id: string): string {
  return recordKey(kind.slice(0, Math.max(kind.lastIndexOf('.'), 0)), id.slice(0, Math.max(id.lastIndexOf('.'), 0)));
}
