/** One running server process, as every node sees it. Each start has a new id; the name stays. */
export interface NodeFacts {
  /** `nd_…`, also the boot id of leases. */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly roles: readonly string[];
  readonly region: string;
  readonly startedAtMs: number;
  /** What other nodes dial, `host:port`. Null: it has no peer listener. */
  readonly peerAddress: string | null;
  /** What agents should dial for this node. Null: left out, because a balancer is in front. */
  readonly tunnelAddress: string | null;
}

/** `lost`: its lease has ended without a farewell. */
export type NodeStatus = 'ready' | 'draining' | 'lost';

/** A row of the slow, authoritative view. Times are the database's. */
export interface NodeRow extends NodeFacts {
  readonly status: NodeStatus;
  readonly lastSeenAtMs: number;
  readonly leaseEndsAtMs: number;
  /** Sessions and tunnels whose agent is connected to it. */
  readonly agents: number;
  readonly tunnels: number;
  /** What this node cannot do, for `/nodes` and `doctor`: a port that it cannot open, a peer that it cannot reach. */
  readonly problems: readonly string[];
}
