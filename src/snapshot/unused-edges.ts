import type { Change, StoredRecord } from '../store/store.ts';
import { HostTable } from './host-table.ts';
import { hostsOf } from './hosts-of.ts';

/** Edges that are known and not compiled, by name. */
export class UnusedEdges {
  readonly hosts = new HostTable<string>();
  readonly #hostsById = new Map<string, readonly string[]>();

  constructor(edges: Iterable<StoredRecord>) {
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
    const hosts = hostsOf(edge);
    this.#hostsById.set(edge.id, hosts);
    for (const host of hosts) this.hosts.set(host, edge.id);
    return hosts;
  }
}
