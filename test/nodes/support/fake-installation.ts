import type { Membership } from '../../../src/tunnel/nodes/membership/membership.ts';
import type { NodeRow, NodeStatus } from '../../../src/tunnel/nodes/node.ts';

/** Nodes without a store: every member sees a row as soon as it is put. */
export class FakeInstallation {
  readonly #rows = new Map<string, NodeRow>();
  readonly #listeners = new Set<() => void>();

  put(id: string, fields: Partial<NodeRow> = {}): NodeRow {
    const row: NodeRow = {
      ...{ id, name: id.replace('nd_', 'node-'), version: '0', roles: ['edge', 'gateway'], region: 'local' },
      ...{ startedAtMs: 0, peerAddress: null, tunnelAddress: null, status: 'ready', lastSeenAtMs: 0 },
      ...{ leaseEndsAtMs: 0, agents: 0, tunnels: 0, problems: [] },
      ...this.#rows.get(id),
      ...fields,
    };
    this.#rows.set(id, row);
    this.#changed();
    return row;
  }

  remove(id: string): void {
    this.#rows.delete(id);
    this.#changed();
  }

  member(id: string): Membership & { readonly problems: Map<string, string> } {
    const self = this.put(id);
    const problems = new Map<string, string>();
    return {
      self,
      problems,
      nodes: () => [...this.#rows.values()],
      get: (wanted) => this.#rows.get(wanted),
      mayServe: () => true,
      rightLeftMs: () => 1_000,
      nowMs: () => Date.now(),
      onChange: (listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
      onLeaseExpired: () => () => {},
      setStatus: async (status: Exclude<NodeStatus, 'lost'>) => void this.put(id, { status }),
      setProblem: (key, problem) => void (problem === null ? problems.delete(key) : problems.set(key, problem.message)),
    };
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
