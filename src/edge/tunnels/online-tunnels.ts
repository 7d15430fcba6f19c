import type { ClientHttp2Stream } from 'node:http2';

/** Tunnels as traffic finds them: exactly those that are online. */
export interface OnlineTunnels {
  /** Moves whenever a tunnel comes or goes: what was picked under another one is picked anew. */
  readonly generation: number;
  /** Those that have all these labels. */
  matching(labels: Readonly<Record<string, string>>): readonly OnlineTunnel[];
  get(tunnelId: string): OnlineTunnel | undefined;
}

export interface OnlineTunnel {
  readonly id: string;
  /** Where the agent forwards to, in the agent's words. */
  readonly forwardsTo: string;
  /** Requests and connections under way, kept by whoever sends them. */
  inFlight: number;
  /** The connection of its agent that has most room; null when there is none. */
  link(): AgentLink | null;
}

/** One connection to an agent. Streams that are opened on it go to one of the agent's tunnels by `postern-tunnel`. */
export interface AgentLink {
  request(
    headers: readonly string[],
    options: { readonly endStream: boolean; readonly waitForTrailers: boolean },
  ): ClientHttp2Stream;
  /** Ends a stream early, with CANCEL. */
  reset(stream: ClientHttp2Stream): void;
  /** A stream is over, in whichever way. */
  release(): void;
  /** No new streams on it. */
  retire(): void;
}
