/** One running server process, as every node sees it. Each start has a new id; the name stays. */
export interface NodeFacts {
  /** `nd_…`, also the boot id of leases. */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly roles: readonly string[];
  readonly region: string;
  readonly startedAtMs: number;
  /** The address that other nodes dial, `host:port`. Null: this node has no peer listener. */
  readonly peerAddress: string | null;
  /** The address that agents dial for this node. Null: a balancer is in front, and agents get no address. */
  readonly tunnelAddress: string | null;
}

/** `lost`: the node's lease has ended without a farewell. */
export type NodeStatus = 'ready' | 'draining' | 'lost';

/** A node's row in the store, the slow and authoritative view. Times are by the database's clock. */
export interface NodeRow extends NodeFacts {
  readonly status: NodeStatus;
  readonly lastSeenAtMs: number;
  readonly leaseEndsAtMs: number;
  /** Sessions and tunnels whose agents are connected to this node. */
  readonly agents: number;
  readonly tunnels: number;
  /** Problems of this node, for `/nodes` and `doctor`: a port that it cannot open, a peer that it cannot reach. */
  readonly problems: readonly string[];
}
