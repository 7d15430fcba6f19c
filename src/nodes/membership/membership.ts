import type { NodeFacts, NodeRow, NodeStatus } from '../node.ts';

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
   * This node's lease had lapsed and was renewed. Listeners compare everything that this node owned with the store. A
   * node that had to stop serves no names until all listeners have resolved. After a rejection they are called again.
   */
  onLapse(listener: LapseListener): () => void;
  /** Other nodes see the status with the next heartbeat, which follows at once. */
  setStatus(status: Exclude<NodeStatus, 'lost'>): Promise<void>;
  /** Adds or clears a line of `problems`. */
  setProblem(key: string, text: string | null): void;
}

/** `isDoubtful`: other nodes may have taken over names and sessions of this node. */
export type LapseListener = (isDoubtful: boolean) => void | Promise<void>;

/** Lease of a node and its renewal. A claim against a dead node waits for the lease; all timings add up to under 3 s. */
export const NODE_LEASE_MS = 1_500;
export const NODE_RENEW_MS = 400;
