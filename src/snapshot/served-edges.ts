import type { CompiledEdge } from './compilation.ts';
import type { EdgeSnapshot } from './edge-snapshot.ts';
import { HostTable } from './host-table.ts';

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
