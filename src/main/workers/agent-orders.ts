import type { AgentMessage, GatewayMessage } from '../../tunnel/messages.ts';

/** What the main thread asks a worker to do with the connection of an agent. */
export type AgentOrder =
  | { readonly do: 'greeted' | 'close' | 'drain' | 'sendAway' | 'retire' }
  | { readonly do: 'send'; readonly message: GatewayMessage }
  | { readonly do: 'refuse'; readonly code: string; readonly message: string; readonly retry: boolean }
  | { readonly do: 'fail'; readonly reason: string }
  | { readonly do: 'belong'; readonly sessionId: string; readonly isHome: boolean };

/** How workers shake hands with agents. */
export interface AgentTls {
  readonly cert: string;
  readonly key: string;
  /** Names for which a certificate from an ACME server comes first. */
  readonly managedNames: readonly string[];
}

/** What a worker says about connections of agents that it has. Each has a number. */
export interface AgentReports {
  /** TLS is established. */
  agentArrived(number: number, remoteAddress: string): void;
  agentSaid(number: number, message: AgentMessage): void;
  /** `reason` is null when the agent left cleanly. */
  agentClosed(number: number, reason: string | null): void;
  /** Streams in progress, once the connection drains. */
  agentActive(number: number, active: number): void;
}
