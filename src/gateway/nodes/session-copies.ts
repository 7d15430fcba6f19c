import type { AgentSession } from '../agent-session.ts';
import type { BoundTunnel } from '../bound-tunnel.ts';

/** Copies of this node's sessions on other nodes that have connections of the same agents. */
export interface SessionCopies {
  tunnelChanged(tunnel: BoundTunnel): void;
  /** Resolves once no other node serves the tunnel: each has confirmed the end, or no longer has a grant. */
  tunnelGone(tunnel: BoundTunnel): Promise<void>;
  sessionEnded(session: AgentSession): Promise<void>;
}

export const NO_COPIES: SessionCopies = {
  tunnelChanged: () => {},
  tunnelGone: () => Promise.resolve(),
  sessionEnded: () => Promise.resolve(),
};
