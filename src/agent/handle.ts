import type { EventEmitter } from 'node:events';
import type { AgentEventMap, AgentStatus } from './events.ts';

export type TunnelStatus =
  /** Not asked for, or asked for and not answered. */
  | 'binding'
  | 'online'
  /** The server said no for now: asked for again by itself. */
  | 'waiting'
  /** The server said no. */
  | 'refused'
  | 'stopped';

/** A tunnel as the agent's user sees it. */
export interface AgentTunnel {
  /** The agent's own number of it: its place in the list of tunnels. */
  readonly ref: number;
  readonly name: string;
  /** Null until the server has given one. */
  readonly id: string | null;
  readonly url: string | null;
  readonly proto: 'http' | 'https' | 'tcp' | 'tls' | null;
  readonly labels: Readonly<Record<string, string>> | null;
  /** Where it leads, as `host:port` or URL. */
  readonly forwardsTo: string;
  readonly status: TunnelStatus;
  /** The server's words when it said no. */
  readonly problem: string | null;
}

/** A running agent. */
export interface AgentHandle extends EventEmitter<AgentEventMap> {
  readonly tunnels: readonly AgentTunnel[];
  /** The first tunnel's. */
  readonly url: string | null;
  readonly status: AgentStatus;
  readonly sessionId: string | null;
  readonly region: string | null;
  /** Of the last ping that was answered. */
  readonly roundTripMs: number | null;
  /** Requests and connections under way. */
  readonly active: number;
  /** Takes the tunnels off the server, lets what is under way finish for a while, and ends. */
  close(): Promise<void>;
}
