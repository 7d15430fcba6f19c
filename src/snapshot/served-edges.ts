import type { CompiledEdge } from './compilation.ts';
import type { EdgeSnapshot } from './edge-snapshot.ts';
import { HostTable } from './host-table.ts';

export interface EdgeSwap {
  readonly edgeId: string;
  readonly now: EdgeSnapshot | null;
  readonly before: EdgeSnapshot | null;
  /** What the snapshot that is gone had looked at. */
  readonly staleDependencies?: ReadonlySet<string> | undefined;
}

/** The snapshots of edges that traffic meets, by id and by host. */
export class ServedEdges {
  readonly hosts = new HostTable<EdgeSnapshot>();
  readonly #byId = new Map<string, EdgeSnapshot>();
  readonly #dependenciesOf = new Map<string, ReadonlySet<string>>();

  all(): Iterable<EdgeSnapshot> {
    return this.#byId.values();
  }

  dependenciesOf(edgeId: string): ReadonlySet<string> | undefined {
    return this.#dependenciesOf.get(edgeId);
  }

  /** In one step: no request meets one edge as it was and another as it is. */
  swap(compiled: ReadonlyMap<string, CompiledEdge>): readonly EdgeSwap[] {
    const swaps: EdgeSwap[] = [];
    // Hosts can move from one edge to another in one batch: all old names go before new ones come.
    for (const [edgeId, { snapshot }] of compiled) {
      const before = this.#byId.get(edgeId) ?? null;
      swaps.push({ edgeId, now: snapshot, before, staleDependencies: this.#dependenciesOf.get(edgeId) });
      if (haveSameHosts(snapshot, before)) continue;
      // A host that another edge has taken meanwhile stays with that one.
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

/** Most changes leave an edge's hosts as they were: its entries are then replaced in place, which costs a tenth. */
export function haveSameHosts(now: EdgeSnapshot | null, before: EdgeSnapshot | null): boolean {
  if (now === null || before === null || now.hosts.length !== before.hosts.length) return false;
  return now.hosts.every((host, at) => host === before.hosts[at]);
}
