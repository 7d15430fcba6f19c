import type { ReportedFinding } from '../../../kit/findings.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import type { Heartbeat, StoredNode } from '../../../store/node-store.ts';
import { GENERAL_ADVICE, type NodeFacts, type NodeRow } from '../node.ts';

export interface NodeCounts {
  readonly agents: number;
  readonly tunnels: number;
}

/** The document in a node's row, beside the lease. */
export function documentOf(facts: NodeFacts, counts: NodeCounts, problems: readonly ReportedFinding[]): JsonObject {
  return {
    v: 1,
    name: facts.name,
    version: facts.version,
    roles: facts.roles,
    region: facts.region,
    peer_address: facts.peerAddress,
    tunnel_address: facts.tunnelAddress,
    agents: counts.agents,
    tunnels: counts.tunnels,
    problems: problems.map(({ code, message, advice = null, about }) => ({
      ...{ code, message, advice },
      about: about?.id ?? null,
    })),
  };
}

/** Another version may have written the row: unknown fields are ignored, and absent fields have plain values. */
function rowOf({ id, status, startedAtMs, lastSeenAtMs, leaseEndsAtMs, doc }: StoredNode, nowMs: number): NodeRow {
  return {
    id,
    name: textOf(doc['name']) ?? id,
    version: textOf(doc['version']) ?? '',
    roles: textsOf(doc['roles']),
    region: textOf(doc['region']) ?? '',
    startedAtMs,
    peerAddress: textOf(doc['peer_address']),
    tunnelAddress: textOf(doc['tunnel_address']),
    status: leaseEndsAtMs > nowMs ? status : 'lost',
    lastSeenAtMs,
    leaseEndsAtMs,
    agents: countOf(doc['agents']),
    tunnels: countOf(doc['tunnels']),
    problems: problemsOf(doc['problems']),
  };
}

function problemsOf(value: JsonValue | undefined): readonly ReportedFinding[] {
  const all = Array.isArray(value) ? value.filter(isJsonObject) : [];
  return all.flatMap((each) => {
    const [code, message, advice, id] = ['code', 'message', 'advice', 'about'].map((name) => textOf(each[name]));
    if (message === undefined || message === null) return [];
    return [{ code: code ?? null, message, advice: advice ?? GENERAL_ADVICE, ...(id != null && { about: { id } }) }];
  });
}

function textOf(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

function textsOf(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

function countOf(value: JsonValue | undefined): number {
  return typeof value === 'number' ? value : 0;
}

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
