import type { Clock } from '../../lib/clock.ts';
import type { NodeFacts, NodeRow, NodeStatus } from '../node.ts';
import type { Membership } from './membership.ts';
import type { NodeCounts } from './node-document.ts';
import { NodeProblems } from './node-problems.ts';

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
    problems: problems.lines,
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
    onLapse: () => () => {},
    setStatus: async (next) => {
      status = next;
      for (const listener of listeners) listener();
    },
    setProblem: (key, text) => void problems.set(key, text),
  };
}
