/** Use of a tunnel by the visitors of one node. */
export interface TunnelFigures {
  readonly id: string;
  /** Requests and connections that have ended, and their bytes. */
  readonly requests: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly inProgress: number;
}

/** The connections of an agent to one node. */
export interface AgentFigures {
  readonly id: string;
  /** Duration of the last ping for each connection; null before the first answer. */
  readonly roundTripsMs: readonly (number | null)[];
  /** Over these connections: requests, responses and control messages. */
  readonly bytesReceived: number;
  readonly bytesSent: number;
}

/** Everything online at a node, read one by one, in several turns of the event loop. Null: nothing to list. */
export interface AllFigures {
  readonly tunnels: Iterable<TunnelFigures | null>;
  readonly agents: Iterable<AgentFigures | null>;
}

/** The busiest of a node. */
export interface NodeTunnels {
  readonly tunnels: readonly TunnelFigures[];
  readonly agents: readonly AgentFigures[];
}
