import type { TimeSlice } from '../../kit/async/slices.ts';
import type { RecordReader } from '../../store/replica/record-table.ts';
import type { Change, StoredRecord } from '../../store/store.ts';
import type { EdgeSnapshot } from './edge-snapshot.ts';
import { HostTable } from './host-table.ts';
import type { KindsOfEdges } from './kinds-of-edges.ts';
import { RouteTable } from './route-table.ts';

export interface EdgeSwap {
  readonly edgeId: string;
  readonly now: EdgeSnapshot | null;
  readonly before: EdgeSnapshot | null;
  /** Dependencies of the replaced snapshot. */
  readonly staleDependencies?: ReadonlySet<string> | undefined;
}

/** The snapshots that serve traffic, by id and by host. */
export class ServedEdges {
  readonly hosts = new HostTable<EdgeSnapshot>();
  readonly #byId = new Map<string, EdgeSnapshot>();
  readonly #dependenciesOf = new Map<string, ReadonlySet<string>>();

  all(): Iterable<EdgeSnapshot> {
    return this.#byId.values();
  }

  get(edgeId: string): EdgeSnapshot | undefined {
    return this.#byId.get(edgeId);
  }

  dependenciesOf(edgeId: string): ReadonlySet<string> | undefined {
    return this.#dependenciesOf.get(edgeId);
  }

  /** In one step: no request sees one edge before and another after the change. */
  swap(compiled: ReadonlyMap<string, CompiledEdge>): readonly EdgeSwap[] {
    const swaps: EdgeSwap[] = [];
    // Hosts can move between edges in one batch: all old names are removed before new ones are added.
    for (const [edgeId, { snapshot }] of compiled) {
      const before = this.#byId.get(edgeId) ?? null;
      swaps.push({ edgeId, now: snapshot, before, staleDependencies: this.#dependenciesOf.get(edgeId) });
      if (haveSameHosts(snapshot, before)) continue;
      // A host that another edge has taken in the meantime stays with that edge.
      for (const host of before?.hosts ?? []) if (this.hosts.get(host) === before) this.hosts.delete(host);
    }
    for (const [edgeId, { snapshot, dependencies }] of compiled) {
      if (snapshot === null) {
        this.#byId.delete(edgeId);
        this.#dependenciesOf.delete(edgeId);
        continue;
      }
      this.#byId.set(edgeId, snapshot);
      this.#dependenciesOf.set(edgeId, dependencies);
      for (const host of snapshot.hosts) this.hosts.set(host, snapshot);
    }
    return swaps;
  }
}

/** Most changes keep an edge's hosts: its entries are then replaced in place, at a tenth of the cost. */
export function haveSameHosts(now: EdgeSnapshot | null, before: EdgeSnapshot | null): boolean {
  if (now === null || before === null || now.hosts.length !== before.hosts.length) return false;
  return now.hosts.every((host, at) => host === before.hosts[at]);
}

/** Edges that are known and not compiled, by name. */
export class UnusedEdges {
  readonly hosts = new HostTable<string>();
  readonly #hostsById = new Map<string, readonly string[]>();

  readonly #kinds: KindsOfEdges;

  constructor(kinds: KindsOfEdges, edges: Iterable<StoredRecord>) {
    this.#kinds = kinds;
    for (const edge of edges) this.#put(edge);
  }

  /** Returns the names that are new. */
  apply(change: Change): readonly string[] {
    const { id } = change.op === 'put' ? change.record : change.key;
    const before = this.#hostsById.get(id) ?? [];
    this.delete(id);
    if (change.op === 'delete') return [];
    return this.#put(change.record).filter((host) => !before.includes(host));
  }

  delete(edgeId: string): void {
    for (const host of this.#hostsById.get(edgeId) ?? []) {
      // Another edge may have taken it in the meantime.
      if (this.hosts.get(host) === edgeId) this.hosts.delete(host);
    }
    this.#hostsById.delete(edgeId);
  }

  #put(edge: StoredRecord): readonly string[] {
    const hosts = this.#kinds.hostsOf(edge);
    this.#hostsById.set(edge.id, hosts);
    for (const host of hosts) this.hosts.set(host, edge.id);
    return hosts;
  }
}

/** An edge that could not be compiled: it keeps its hosts, completes no handshake and has no route. */
export function refusingEdge(
  edgeId: string,
  reader: RecordReader,
  kinds: KindsOfEdges,
  error: unknown,
): EdgeSnapshot | null {
  const record = kinds.find(reader, edgeId)?.record;
  if (record === undefined) return null;
  const message = `the edge could not be compiled (${error instanceof Error ? error.message : 'unknown'})`;
  const problem = { module: 'edge', code: 'ERR_POSTERN_MODULE_UNAVAILABLE', message } as const;
  return {
    id: edgeId,
    hosts: kinds.hostsOf(record),
    tls: { clientAuthorities: [] },
    tlsGeneration: `refusing ${record.revision}`,
    routes: new RouteTable([]),
    ownPathRoutes: [],
    problem,
    problems: [problem],
  };
}

export interface CompiledEdge {
  /** Null: the edge was deleted. */
  readonly snapshot: EdgeSnapshot | null;
  readonly dependencies: ReadonlySet<string>;
}

const CHANGES_PER_STEP = 100;

/** Edges affected by one or more changes, held back until all of them are compiled. */
export class Compilation {
  readonly compiled = new Map<string, CompiledEdge>();
  readonly #waiting: Set<string>;
  /** Changes whose edges are not known yet. */
  readonly #unresolved: Change[] = [];
  #resolved = 0;
  readonly #done = Promise.withResolvers<void>();

  /** The revisions whose changes it contains. */
  readonly revisions: Set<number>;

  constructor(edgeIds: Iterable<string>, revisions: Iterable<number>) {
    this.#waiting = new Set(edgeIds);
    this.revisions = new Set(revisions);
  }

  /** Resolves when its edges are served and all listeners have been notified. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  add(edgeIds: Iterable<string>, revisions: Iterable<number>): void {
    for (const edgeId of edgeIds) this.#waiting.add(edgeId);
    for (const revision of revisions) this.revisions.add(revision);
  }

  /** Many changes: which edges they affect is found out in slices too. */
  addChanges(changes: readonly Change[], revisions: Iterable<number>): void {
    for (const change of changes) this.#unresolved.push(change);
    this.add([], revisions);
  }

  /** Returns whether the edges of all changes are known. */
  resolveSlice(affectedBy: (changes: readonly Change[]) => Iterable<string>, slice: TimeSlice): boolean {
    while (this.#resolved < this.#unresolved.length) {
      if (slice.isOver) return false;
      const step = this.#unresolved.slice(this.#resolved, this.#resolved + CHANGES_PER_STEP);
      this.#resolved += step.length;
      for (const edgeId of affectedBy(step)) this.#waiting.add(edgeId);
    }
    return true;
  }

  /** A later change has already updated the edge. Returns the discarded compilation. */
  overtaken(edgeId: string): CompiledEdge | undefined {
    this.#waiting.delete(edgeId);
    const compiled = this.compiled.get(edgeId);
    this.compiled.delete(edgeId);
    return compiled;
  }

  /** Returns whether all edges are compiled. */
  slice(compile: (edgeId: string) => CompiledEdge, slice: TimeSlice): boolean {
    for (const edgeId of this.#waiting) {
      if (slice.isOver) return false;
      this.#waiting.delete(edgeId);
      this.compiled.set(edgeId, compile(edgeId));
    }
    return true;
  }

  finish(): void {
    this.#done.resolve();
  }
}
