import { edgeKinds } from '../../edges/registry.ts';
import { type SliceBudget, SliceQueue, TimeSlice } from '../../kit/async/slices.ts';
import { isHostOrBelow } from '../../kit/net/host-name.ts';
import type { FollowedReplica } from '../../store/replica/replica.ts';
import { type Change, revisionOf, type StoredRecord } from '../../store/store.ts';
import { SharedBackends } from './compile-backend.ts';
import { type CompileDefinitions, compileEdge, type Definitions } from './compile-edge.ts';
import { compileDetached, type DetachedEdge } from './detached-edge.ts';
import { EdgeDependencies, TrackingReader } from './edge-dependencies.ts';
import { type EdgeSnapshot, type OwnHost, ownHostEdge } from './edge-snapshot.ts';
import { KindsOfEdges } from './kinds-of-edges.ts';
import { ChildTables, ModuleTables } from './module-tables.ts';
import {
  Compilation,
  type CompiledEdge,
  type EdgeSwap,
  haveSameHosts,
  refusingEdge,
  ServedEdges,
  UnusedEdges,
} from './served-edges.ts';

const NONE: ReadonlySet<string> = new Set();
/** Takes about a millisecond. */
const MAX_RESOLVED_AT_ONCE = 1_000;

export type SnapshotListener = (edgeId: string, now: EdgeSnapshot | null, before: EdgeSnapshot | null) => void;

/**
 * The snapshots that the edge serves, found by host. A change compiles only the edges that had read the changed record,
 * so its cost does not grow with the number of edges, and other hosts are not affected.
 *
 * A change that affects few edges is served before the replica's listener returns. A change that affects many (a rule
 * of a policy that every edge uses) is compiled in slices, so that traffic continues, and swapped in one step. Large
 * changes that arrive meanwhile are collected for the next round; small ones overtake. `served` resolves when the
 * changes of a write are served, and the write is answered after that. Until then the previous snapshots serve.
 */
export class Snapshots {
  readonly #replica: FollowedReplica;
  readonly #definitions: CompileDefinitions;
  readonly #budget: SliceBudget;
  readonly #edges = new ServedEdges();
  /** Edges that nobody has asked for yet; null: every edge is compiled as soon as it is known. */
  readonly #unused: UnusedEdges | null;
  readonly #childTables: ChildTables;
  readonly #backends: SharedBackends;
  readonly #dependencies: EdgeDependencies;
  /** Edges without a record: addresses created by agents, while they are online. */
  readonly #ephemeral = new Map<string, EdgeSnapshot>();
  readonly #ephemeralHosts = new Map<string, EdgeSnapshot>();
  readonly #plainHosts = new Map<string, EdgeSnapshot>();
  /** Hosts that the program serves itself: nothing takes their names from them. */
  readonly #ownHosts = new Map<string, EdgeSnapshot>();
  readonly #detached = new WeakMap<EdgeSnapshot, DetachedEdge>();
  readonly #listeners = new Set<SnapshotListener>();
  readonly #unsubscribe: () => void;
  #running: Compilation | null = null;
  #next: Compilation | null = null;
  /** Swapped edges whose listeners have not been notified yet. */
  readonly #untold = new Map<string, EdgeSwap>();
  /** Parts of the program that are being loaded for modules, and tables of records that are being made. */
  #loading: Promise<void> | null = null;
  #isClosed = false;

  private constructor(replica: FollowedReplica, definitions: Definitions, budget: SliceBudget, isLazy: boolean) {
    this.#replica = replica;
    const kinds = new KindsOfEdges(definitions.edgeKinds ?? edgeKinds);
    this.#dependencies = new EdgeDependencies(kinds.recordKinds);
    this.#unused = isLazy ? new UnusedEdges(kinds, allEdges(replica, kinds)) : null;
    const childTables = new ChildTables(definitions.modules, replica);
    this.#childTables = childTables;
    this.#backends = new SharedBackends(replica, definitions.kindOfId);
    this.#definitions = {
      ...definitions,
      kinds,
      tables: new ModuleTables(definitions.modules, kinds.owners),
      childTable: (table, parentId) => childTables.read(table, parentId),
      backends: this.#backends,
    };
    this.#budget = budget;
    this.#unsubscribe = replica.onChange((changes) => this.#follow(changes));
  }

  /**
   * Compiles all edges in slices, so that /healthz responds during the start: 8,000 take seconds (0.2 to 0.5 ms each).
   */
  static async open(
    replica: FollowedReplica,
    definitions: Definitions,
    budget: SliceBudget = new SliceQueue(),
  ): Promise<Snapshots> {
    const snapshots = new Snapshots(replica, definitions, budget, false);
    await snapshots.#loadAll();
    const edgeIds = Array.from(allEdges(replica, snapshots.#definitions.kinds), ({ id }) => id);
    await snapshots.#run(new Compilation(edgeIds, []));
    return snapshots;
  }

  /** Compiles an edge when it is asked for the first time: for a thread that serves a part of the connections. */
  static async lazy(replica: FollowedReplica, definitions: Definitions): Promise<Snapshots> {
    const snapshots = new Snapshots(replica, definitions, new SliceQueue(), true);
    await snapshots.#loadAll();
    return snapshots;
  }

  /** Parts of the program that the modules of the stored edges need. */
  async #loadAll(): Promise<void> {
    this.#childTables.followAll();
    await this.#childTables.catchUp(new TimeSlice(this.#budget));
    const { tables } = this.#definitions;
    for (const kind of tables.loadingKinds) await tables.load(this.#replica.all(kind));
  }

  /** Resolves when the changes of a revision that the replica has shown are served; null: they already are. */
  served(revision: number): Promise<void> | null {
    return [this.#next, this.#running].find((compilation) => compilation?.revisions.has(revision))?.done ?? null;
  }

  /** Resolves when everything that the replica has shown until now is served; null: it is. */
  settled(): Promise<void> | null {
    return (this.#next ?? this.#running)?.done ?? null;
  }

  /**
   * The edge that serves a host over HTTPS. An edge's exact name takes precedence over an agent's name, and that over
   * an edge's wildcard.
   */
  find(host: string): EdgeSnapshot | undefined {
    if (this.#ownHosts.size > 0 && this.ownHostOf(host) !== undefined) return this.#ownHosts.get(host);
    return this.#exact(host) ?? this.#ephemeralHosts.get(host) ?? this.#wildcard(host);
  }

  /** Serves a host over plain HTTP: never a configured edge. */
  findPlain(host: string): EdgeSnapshot | undefined {
    if (this.ownHostOf(host) !== undefined) return undefined;
    return this.#exact(host) === undefined ? this.#plainHosts.get(host) : undefined;
  }

  /** The configured edge for a host, by exact name or wildcard, ignoring agents. */
  findEdge(host: string): { readonly edge: EdgeSnapshot; readonly isExact: boolean } | undefined {
    const exact = this.ownHostOf(host) ?? this.#exact(host);
    const edge = exact ?? this.#wildcard(host);
    return edge === undefined ? undefined : { edge, isExact: exact !== undefined };
  }

  /**
   * The host of the program's own that has this name, or that the name is below: nothing else serves either, whatever
   * is configured. A site below it could set its cookies, and use its passkeys.
   */
  ownHostOf(host: string): EdgeSnapshot | undefined {
    for (const [name, edge] of this.#ownHosts) if (isHostOrBelow(host, name)) return edge;
    return undefined;
  }

  /** A configured edge, or the address of an agent. */
  get(edgeId: string): EdgeSnapshot | undefined {
    return this.#edges.get(edgeId) ?? this.#ephemeral.get(edgeId);
  }

  /** Edges that are compiled. */
  all(): Iterable<EdgeSnapshot> {
    return this.#edges.all();
  }

  #exact(host: string): EdgeSnapshot | undefined {
    return this.#edges.hosts.findExact(host) ?? this.#firstUse(this.#unused?.hosts.findExact(host));
  }

  #wildcard(host: string): EdgeSnapshot | undefined {
    return this.#edges.hosts.findWildcard(host) ?? this.#firstUse(this.#unused?.hosts.findWildcard(host));
  }

  #firstUse(edgeId: string | undefined): EdgeSnapshot | undefined {
    if (edgeId === undefined) return undefined;
    this.#unused?.delete(edgeId);
    const compiled = this.#compile(edgeId);
    for (const id of this.#swap(new Map([[edgeId, compiled]]))) this.#tellSwap(id);
    return compiled.snapshot ?? undefined;
  }

  /** Compiled like all others, and served only once it is added. */
  compileDetached(edge: DetachedEdge): EdgeSnapshot {
    const compiled = compileDetached(edge, this.#definitions);
    this.#detached.set(compiled, edge);
    return compiled;
  }

  /** What an agent's address was compiled from; null: it is configured. */
  detachedOf(edge: EdgeSnapshot): DetachedEdge | null {
    return this.#detached.get(edge) ?? null;
  }

  /** The same edge with other runtimes of the modules. Null: it was deleted meanwhile. */
  compileWith(edge: EdgeSnapshot, runtimes: NonNullable<Definitions['runtimes']>): EdgeSnapshot | null {
    const definitions = { ...this.#definitions, runtimes };
    const detached = this.#detached.get(edge);
    if (detached !== undefined) return compileDetached(detached, definitions);
    return compileEdge(edge.id, new TrackingReader(this.#replica), definitions, 'operator');
  }

  serveOwnHost(host: OwnHost): void {
    this.#ownHosts.set(host.hostname, ownHostEdge(host));
  }

  addEphemeral(edge: EdgeSnapshot): void {
    this.#ephemeral.set(edge.id, edge);
    for (const host of edge.hosts) this.#ephemeralTable(edge).set(host, edge);
    this.#tell(edge.id, edge, null);
    if (edge.isPlain !== true) this.takenFromWildcard(edge.hosts[0] ?? '');
  }

  /** A wildcard may have served this host until now: its requests are evaluated again. */
  takenFromWildcard(host: string): void {
    const shadowed = this.#edges.hosts.findWildcard(host);
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
    this.#isClosed = true;
    this.#unsubscribe();
    this.#listeners.clear();
  }

  /**
   * A module would prepare the edges that read this record differently, although the record is the same. At a start,
   * hundreds of lists are loaded one after the other: each waits for the next round, and a large edge that all of them
   * affect is not compiled for each.
   */
  recompile(kind: string, id: string): void {
    const record = this.#replica.get(kind, id);
    if (record !== undefined && !this.#isClosed) this.#followAs([{ op: 'put', record }], [], 0);
  }

  #follow(changes: readonly Change[]): void {
    const revisions = new Set<number>();
    for (const change of changes) revisions.add(revisionOf(change));
    this.#followAs(changes, revisions);
  }

  #followAs(shown: readonly Change[], revisions: Iterable<number>, maxAtOnce = MAX_RESOLVED_AT_ONCE): void {
    const changes = this.#backends.follow(this.#childTables.follow(shown));
    if (this.#childTables.isBehind) this.#wait(this.#childTables.catchUp(new TimeSlice(this.#budget)));
    this.#load(shown);
    if (changes.length <= maxAtOnce && this.#loading === null) this.#affect(changes, revisions);
    else this.#affectInSlices(changes, revisions);
  }

  /**
   * While a part is loaded, no edge is compiled: its modules could not be prepared. The previous ones serve meanwhile.
   */
  #load(changes: readonly Change[]): void {
    const records = changes.flatMap((change) => (change.op === 'put' ? [change.record] : []));
    const missing = this.#definitions.tables.load(records);
    if (missing !== null) this.#wait(missing);
  }

  #wait(missing: Promise<unknown>): void {
    const loading: Promise<void> = Promise.all([this.#loading, missing]).then(
      () => this.#loaded(loading),
      // The modules that need it say so, and refuse.
      () => this.#loaded(loading),
    );
    this.#loading = loading;
  }

  async #untilLoaded(): Promise<void> {
    while (this.#loading !== null) await this.#loading;
  }

  #loaded(loading: Promise<void>): void {
    if (this.#loading === loading) this.#loading = null;
  }

  /** Finding the edges of 50,000 changes takes as long as compiling some hundred edges. */
  #affectInSlices(changes: readonly Change[], revisions: Iterable<number>): void {
    if (this.#running !== null) {
      this.#next ??= new Compilation([], []);
      this.#next.addChanges(changes, revisions);
      return;
    }
    const compilation = new Compilation([], []);
    compilation.addChanges(changes, revisions);
    void this.#run(compilation);
  }

  #affect(changes: readonly Change[], revisions: Iterable<number>): void {
    const affected = this.#affectedBy(changes);
    if (affected.size === 0) return;
    const compilation = new Compilation(affected, revisions);
    const isWhole = compilation.slice((edgeId) => this.#compile(edgeId), new TimeSlice(this.#budget));
    if (isWhole) this.#serveAtOnce(compilation);
    else if (this.#running === null) void this.#run(compilation);
    else {
      this.#discard(compilation);
      this.#next ??= new Compilation([], []);
      this.#next.add(affected, compilation.revisions);
    }
  }

  #affectedBy(changes: readonly Change[]): Set<string> {
    const affected = this.#dependencies.edgesAffectedBy(changes);
    if (this.#unused !== null) this.#leaveUnused(this.#unused, changes, affected);
    return affected;
  }

  /**
   * An edge that nobody has asked for only keeps its names up to date. A new name may have been served by another edge.
   */
  #leaveUnused(unused: UnusedEdges, changes: readonly Change[], affected: Set<string>): void {
    for (const change of changes) {
      const { kind, id } = change.op === 'put' ? change.record : change.key;
      if (!this.#definitions.kinds.has(kind) || this.#edges.dependenciesOf(id) !== undefined) continue;
      affected.delete(id);
      for (const host of unused.apply(change))
        for (const edge of this.#servedUntilNow(host)) this.#tell(edge.id, edge, edge);
    }
  }

  /** Few edges: they overtake the large compilation, and its results for an older state of them are dropped. */
  #serveAtOnce({ compiled }: Compilation): void {
    for (const [edgeId, { dependencies }] of compiled) {
      this.#tellSwap(edgeId);
      const stale = this.#running?.overtaken(edgeId);
      if (stale !== undefined) {
        this.#dependencies.remove(edgeId, stale.dependencies, this.#edges.dependenciesOf(edgeId));
      }
      // Both of these may have removed dependencies of this compilation.
      this.#dependencies.add(edgeId, dependencies);
    }
    for (const edgeId of this.#swap(compiled)) this.#tellSwap(edgeId);
  }

  /** One compilation after the other: a write waits for at most two, however fast others follow. */
  async #run(first: Compilation): Promise<void> {
    for (let compilation: Compilation | null = first; compilation !== null; ) {
      this.#running = compilation;
      await this.#untilLoaded();
      const slice = new TimeSlice(this.#budget);
      const compile = (edgeId: string): CompiledEdge => this.#compile(edgeId);
      const affectedBy = (changes: readonly Change[]): Set<string> => this.#affectedBy(changes);
      while (!this.#isClosed && !compilation.resolveSlice(affectedBy, slice)) await slice.next();
      do {
        await slice.next();
        await this.#untilLoaded();
      } while (!this.#isClosed && !compilation.slice(compile, slice));
      // The swap gets its own turn: with 8,000 edges it takes as long as a slice.
      await slice.next();
      if (!this.#isClosed) this.#swap(compilation.compiled);
      do await slice.next();
      while (!this.#isClosed && !this.#tellSlice(slice));
      compilation.finish();
      compilation = this.#next;
      this.#next = null;
    }
    this.#running = null;
  }

  /** Returns the edges whose listeners must be notified. */
  #swap(compiled: ReadonlyMap<string, CompiledEdge>): readonly string[] {
    const swaps = this.#edges.swap(compiled);
    // A new exact name takes its host from a wildcard edge or an agent, which re-evaluate their requests.
    const shadowed = this.#listeners.size === 0 ? [] : this.#shadowedBy(swaps);
    for (const swap of swaps) this.#untold.set(swap.edgeId, swap);
    const seen = [...shadowed].filter(({ id }) => !this.#untold.has(id));
    for (const edge of seen) this.#untold.set(edge.id, { edgeId: edge.id, now: edge, before: edge });
    return [...compiled.keys(), ...seen.map(({ id }) => id)];
  }

  /** Returns whether all listeners know of all swaps. */
  #tellSlice(slice: TimeSlice): boolean {
    for (const edgeId of this.#untold.keys()) {
      if (slice.isOver) return false;
      this.#tellSwap(edgeId);
    }
    return true;
  }

  #tellSwap(edgeId: string): void {
    const swap = this.#untold.get(edgeId);
    if (swap === undefined) return;
    this.#untold.delete(edgeId);
    if (swap.staleDependencies !== undefined) {
      this.#dependencies.remove(edgeId, swap.staleDependencies, this.#edges.dependenciesOf(edgeId));
    }
    this.#tell(edgeId, swap.now, swap.before);
  }

  #discard({ compiled }: Compilation): void {
    for (const [edgeId, { dependencies }] of compiled) {
      const running = this.#running?.compiled.get(edgeId)?.dependencies;
      this.#dependencies.remove(edgeId, dependencies, this.#edges.dependenciesOf(edgeId), running);
    }
  }

  #tell(edgeId: string, now: EdgeSnapshot | null, before: EdgeSnapshot | null): void {
    for (const listener of this.#listeners) listener(edgeId, now, before);
  }

  #ephemeralTable(edge: EdgeSnapshot): Map<string, EdgeSnapshot> {
    return edge.isPlain === true ? this.#plainHosts : this.#ephemeralHosts;
  }

  #shadowedBy(swaps: readonly EdgeSwap[]): ReadonlySet<EdgeSnapshot> {
    const shadowed = new Set<EdgeSnapshot>();
    for (const { now, before } of swaps) {
      if (haveSameHosts(now, before)) continue;
      for (const host of now?.hosts ?? []) {
        if (before?.hosts.includes(host) === true) continue;
        for (const edge of this.#servedUntilNow(host)) shadowed.add(edge);
      }
    }
    return shadowed;
  }

  /** The wildcard edge and the agents that have served a host until an edge took it by its exact name. */
  #servedUntilNow(host: string): readonly EdgeSnapshot[] {
    const all = [this.#edges.hosts.findWildcard(host), this.#ephemeralHosts.get(host), this.#plainHosts.get(host)];
    return all.filter((edge) => edge !== undefined);
  }

  #compile(edgeId: string): CompiledEdge {
    const reader = new TrackingReader(this.#replica);
    let snapshot: EdgeSnapshot | null;
    try {
      snapshot = compileEdge(edgeId, reader, this.#definitions, 'operator');
    } catch (error) {
      // An edge that cannot be compiled rejects traffic: its previous snapshot may admit users that the change was to
      // deny.
      snapshot = refusingEdge(edgeId, this.#replica, this.#definitions.kinds, error);
    }
    // A deleted edge depends on nothing: if it is created again, its own record reports it.
    const dependencies = snapshot === null ? NONE : reader.dependencies;
    this.#dependencies.add(edgeId, dependencies);
    return { snapshot, dependencies };
  }
}

function* allEdges(replica: FollowedReplica, { recordKinds }: KindsOfEdges): Generator<StoredRecord> {
  for (const kind of recordKinds) yield* replica.all(kind);
}
