import type { EventEmitter } from 'node:events';
import type { AgentEventMap, AgentStatus } from './events.ts';
import type { TunnelSpec } from './options.ts';

export type TunnelStatus =
  /** Not requested yet, or requested and not answered. */
  | 'binding'
  | 'online'
  /** The server refused for now; the agent retries automatically. */
  | 'waiting'
  /** The server refused permanently. */
  | 'refused'
  | 'stopped';

/** A server of the installation. */
export interface AgentNode {
  /** Changes with every start of the server. */
  readonly id: string;
  readonly name: string;
}

/** A tunnel as the agent's user sees it. */
export interface AgentTunnel {
  /** The agent's own number for it, which no other tunnel of this agent ever has. */
  readonly ref: number;
  readonly name: string;
  /** Null until the server has assigned one. */
  readonly id: string | null;
  /** Public address. Null for a tunnel with labels, and until the server has assigned one. */
  readonly publicUrl: string | null;
  readonly proto: 'http' | 'https' | 'tcp' | 'tls' | null;
  readonly labels: Readonly<Record<string, string>> | null;
  readonly spec: TunnelSpec;
  /** Local addresses it forwards to, as `host:port` or URL. */
  readonly forwardsTo: string;
  readonly status: TunnelStatus;
  /** The server's message when it refused the tunnel. */
  readonly problem: string | null;
}

/** A running agent. */
export interface AgentHandle extends EventEmitter<AgentEventMap> {
  readonly tunnels: readonly AgentTunnel[];
  /** Public address of the first tunnel. */
  readonly publicUrl: string | null;
  readonly status: AgentStatus;
  readonly sessionId: string | null;
  readonly region: string | null;
  /** Nodes that have a connection of this agent. Empty if the server does not say. */
  readonly nodes: readonly AgentNode[];
  /** Duration of the last answered ping. */
  readonly roundTripMs: number | null;
  /** Requests and connections in progress. */
  readonly active: number;
  /** Opens one more tunnel. Throws `AgentError` when the spec is invalid. */
  openTunnel(spec: TunnelSpec): AgentTunnel;
  /** Requests in progress finish. A tunnel that the agent does not have is ignored. */
  closeTunnel(ref: number): void;
  /** Replaces the local addresses of a tunnel: requests in progress finish at the old ones. */
  moveTunnel(ref: number, addr: readonly string[]): void;
  /** What is wrong on this machine, for the server's list of problems. Replaces what was reported before. */
  reportProblems(problems: readonly string[]): void;
  /** Unbinds the tunnels at the server, waits a bounded time for requests in progress, and stops. */
  close(): Promise<void>;
}
