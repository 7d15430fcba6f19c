import type { Heartbeat } from '../../store/node-store.ts';
import type { NodeRow } from '../node.ts';
import { rowOf } from './node-document.ts';

/** The nodes of the last reading. */
export class KnownNodes {
  readonly #selfId: string;
  #rows: ReadonlyMap<string, NodeRow> = new Map();
  #signature = '';
  /** Other nodes that were ready. */
  #ready: readonly string[] = [];
  /** Nodes that said farewell. The store may still list them. */
  readonly #gone = new Set<string>();

  constructor(selfId: string) {
    this.#selfId = selfId;
  }

  get rows(): ReadonlyMap<string, NodeRow> {
    return this.#rows;
  }

  /** Other nodes that were ready. A linked node counts although its lease had ended at the last reading. */
  othersWith(linked: readonly string[]): readonly string[] {
    const further = linked.filter((id) => id !== this.#selfId && this.#rows.has(id) && !this.#ready.includes(id));
    return further.length === 0 ? this.#ready : [...this.#ready, ...further];
  }

  /** Whether a node that is neither this node nor in `othersWith` has a valid lease. */
  hasUnknownNodes({ nodes, nowMs }: Pick<Heartbeat, 'nodes' | 'nowMs'>, linked: readonly string[]): boolean {
    const others = this.othersWith(linked);
    return nodes.some(({ id, leaseEndsAtMs }) => leaseEndsAtMs > nowMs && id !== this.#selfId && !others.includes(id));
  }

  /** Whether a node came, went or changed. */
  read({ nodes, nowMs }: Pick<Heartbeat, 'nodes' | 'nowMs'>): boolean {
    const rows = nodes.map((node) => rowOf(node, nowMs));
    const ids = new Set(rows.map(({ id }) => id));
    for (const id of this.#gone) if (!ids.has(id)) this.#gone.delete(id);
    return this.#set(rows);
  }

  saidFarewell(id: string): boolean {
    if (id === this.#selfId || !this.#rows.has(id)) return false;
    this.#gone.add(id);
    return this.#set([...this.#rows.values()]);
  }

  #set(all: readonly NodeRow[]): boolean {
    const rows = all.filter(({ id }) => !this.#gone.has(id));
    this.#rows = new Map(rows.map((row) => [row.id, row]));
    this.#ready = rows.filter(({ id, status }) => id !== this.#selfId && status !== 'lost').map(({ id }) => id);
    const signature = JSON.stringify(
      rows
        .map(({ id, name, status, roles, peerAddress, tunnelAddress }) => ({
          id,
          about: [name, status, roles, peerAddress, tunnelAddress],
        }))
        .sort((one, other) => (one.id < other.id ? -1 : 1)),
    );
    const isNews = signature !== this.#signature;
    this.#signature = signature;
    return isNews;
  }
}
