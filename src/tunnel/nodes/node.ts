import { findingTable, type ReportedFinding } from '../../kit/findings.ts';

/** For a problem that another version reported without advice. */
export const GENERAL_ADVICE = 'see the log of that node';

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
  /**
   * What this node reports about itself, for `/nodes` and `doctor`: a port that it cannot open, a peer that it cannot
   * reach. The advice comes with it, because a node of another version may show it.
   */
  readonly problems: readonly ReportedFinding[];
}

/**
 * What is wrong with the links, the clock and the ports of a node. Others declare in tables of their own what they
 * report.
 */
export const nodeFindings = findingTable('nodes', {
  clock_differs: {
    level: 'problem',
    text: ({ skewMs }: { readonly skewMs: number }) =>
      `the clock of this node is ${Math.round(Math.abs(skewMs) / 1_000)} seconds ${skewMs > 0 ? 'ahead of' : 'behind'} the database's`,
    advice: 'synchronize the clocks of all nodes and of the database with NTP',
  },
  node_unreachable: {
    level: 'problem',
    text: ({ name, peerAddress, why }: Pick<NodeRow, 'name' | 'peerAddress'> & { readonly why: string }) =>
      `node ${name} cannot be reached at ${peerAddress}: ${why}`,
    advice: 'check peer_address of that node, and that firewalls let nodes connect to each other',
  },
  tcp_port_refused: {
    level: 'problem',
    text: ({ port, why }: { readonly port: number | null; readonly why: string }) =>
      `port ${port} of a tcp tunnel cannot be opened here: ${why}`,
    advice: 'end the program that uses the port on that machine, or set tcp_ports to ports that are free on all nodes',
  },
  node_differs: {
    level: 'problem',
    text: ({ message }: Error) => message,
    advice: 'make the setting equal, and restart that node',
  },
  problems_not_shown: {
    level: 'problem',
    text: ({ count }: { readonly count: number }) => `and ${count} more problems`,
    advice: GENERAL_ADVICE,
  },
});
