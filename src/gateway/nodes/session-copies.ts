import type { AgentSession } from '../agent-session.ts';
import type { BoundTunnel } from '../bound-tunnel.ts';
import type { GatewayWorkers } from '../ports.ts';

/** Copies of this node's sessions on other nodes that have connections of the same agents. */
export interface SessionCopies {
  tunnelChanged(tunnel: BoundTunnel): void;
  /** Resolves once no other node serves the tunnel: each has confirmed the end, or no longer has a grant. */
  tunnelGone(tunnel: BoundTunnel): Promise<void>;
  sessionEnded(session: AgentSession): Promise<void>;
  sessionChanged(session: AgentSession): void;
}

/** Workers of this node may serve sessions too. */
export function alsoInWorkers(copies: SessionCopies, workers: GatewayWorkers | undefined): SessionCopies {
  if (workers === undefined) return copies;
  const both = async (elsewhere: Promise<void>): Promise<void> => {
    await Promise.all([elsewhere, workers.settled()]);
  };
  return {
    tunnelChanged: (tunnel) => copies.tunnelChanged(tunnel),
    tunnelGone: (tunnel) => both(copies.tunnelGone(tunnel)),
    sessionEnded: (session) => both(copies.sessionEnded(session)),
    sessionChanged: (session) => copies.sessionChanged(session),
  };
}

export const NO_COPIES: SessionCopies = {
  tunnelChanged: () => {},
  tunnelGone: () => Promise.resolve(),
  sessionEnded: () => Promise.resolve(),
  sessionChanged: () => {},
};
