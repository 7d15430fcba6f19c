import type { Clock } from '../../../kit/clock.ts';
import type { ReportedFinding } from '../../../kit/findings.ts';
import { type NodeFacts, type NodeRow, type NodeStatus, nodeFindings } from '../node.ts';
import type { NodeCounts } from './known-nodes.ts';

/**
 * The nodes of this installation. The store's rows decide; links between nodes are the faster view. Every answer comes
 * from memory.
 */
export interface Membership {
  readonly self: NodeFacts;
  /** All nodes including this one, as last read from the database or from a linked peer. */
  nodes(): readonly NodeRow[];
  get(id: string): NodeRow | undefined;
  /**
   * Whether this node may serve names of agents: its lease is valid by its own monotonic clock, or no other node can
   * have taken a name over (every node that was ready at the last reading is linked). Called per request.
   */
  mayServe(): boolean;
  /** How long that right certainly lasts, if this node hears from no other node. */
  rightLeftMs(): number;
  /** The database's last answer plus elapsed monotonic time. */
  nowMs(): number;
  /** A node came, went or changed its status. */
  onChange(listener: () => void): () => void;
  /**
   * This node's lease had expired and was renewed. Listeners compare everything that this node owned with the store. A
   * node that had to stop serves no names until all listeners have resolved. After a rejection they are called again.
   */
  onLeaseExpired(listener: LeaseExpiryListener): () => void;
  /** Other nodes see the status with the next heartbeat, which follows at once. */
  setStatus(status: Exclude<NodeStatus, 'lost'>): Promise<void>;
  /** Adds, replaces or clears one of `problems`. */
  setProblem(key: string, problem: ReportedFinding | null): void;
}

/** `isDoubtful`: other nodes may have taken over names and sessions of this node. */
export type LeaseExpiryListener = (isDoubtful: boolean) => void | Promise<void>;

/**
 * Lease of a node and its renewal. A claim against a dead node waits for the lease; all timings add up to under 3 s.
 */
export const NODE_LEASE_MS = 1_500;
export const NODE_RENEW_MS = 400;

/** The only node of an SQLite store: nothing is written, and no other node can take a name. */
export function localMembership(facts: NodeFacts, clock: Clock, counts: () => NodeCounts): Membership {
  const problems = new NodeProblems();
  const listeners = new Set<() => void>();
  let status: Exclude<NodeStatus, 'lost'> = 'ready';
  const row = (): NodeRow => ({
    ...facts,
    ...counts(),
    status,
    lastSeenAtMs: clock.nowMs(),
    leaseEndsAtMs: Number.MAX_SAFE_INTEGER,
    problems: problems.shown,
  });
  return {
    self: facts,
    nodes: () => [row()],
    get: (id) => (id === facts.id ? row() : undefined),
    mayServe: () => true,
    rightLeftMs: () => Number.MAX_SAFE_INTEGER,
    nowMs: () => clock.nowMs(),
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onLeaseExpired: () => () => {},
    setStatus: async (next) => {
      status = next;
      for (const listener of listeners) listener();
    },
    setProblem: (key, problem) => void problems.set(key, problem),
  };
}

/** Problems shown to other nodes: every heartbeat carries them. */
const MAX_SHOWN = 20;
const MAX_KEPT = 1_000;
const MAX_TEXT = 300;
/** Start of the keys of problems with ports. Each tunnel may have one. */
const PORT = 'port ';

/** Problems of a node. Their number and length are bounded, and problems with ports come last. */
export class NodeProblems {
  readonly #problems = new Map<string, ReportedFinding>();

  /** Whether anything changed. */
  set(key: string, problem: ReportedFinding | null): boolean {
    if (problem === null) return this.#problems.delete(key);
    const known = this.#problems.get(key);
    const bounded = boundedProblem(problem);
    if (known !== undefined && JSON.stringify(known) === JSON.stringify(bounded)) return false;
    if (known === undefined && this.#problems.size >= MAX_KEPT) return false;
    this.#problems.set(key, bounded);
    return true;
  }

  get shown(): readonly ReportedFinding[] {
    const entries = [...this.#problems];
    const isPort = ([key]: readonly [string, ReportedFinding]): boolean => key.startsWith(PORT);
    const sorted = [...entries.filter((entry) => !isPort(entry)), ...entries.filter(isPort)];
    const problems = sorted.map(([, problem]) => problem);
    if (problems.length <= MAX_SHOWN) return problems;
    const shown = problems.slice(0, MAX_SHOWN - 1);
    const rest = nodeFindings.found('problems_not_shown', { count: problems.length - shown.length });
    return [...shown, boundedProblem(rest)];
  }
}

function boundedProblem({ code, message, advice, about }: ReportedFinding): ReportedFinding {
  return {
    ...{ code, message: message.slice(0, MAX_TEXT) },
    ...(advice !== undefined && { advice }),
    ...(about !== undefined && { about }),
  };
}
