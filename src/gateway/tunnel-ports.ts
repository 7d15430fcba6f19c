import type { AgentSession } from './agent-session.ts';
import type { BoundTunnel } from './bound-tunnel.ts';
import type { ClaimRefusal } from './claims.ts';
import { type Claimant, HOLDER_ANSWERS_WITHIN_MS } from './tunnel-names.ts';

interface TunnelPortsParts {
  sessions(): Iterable<AgentSession>;
  /** Ends a session whose agent is gone, or one of its tunnels. */
  endSession(session: AgentSession, reason: string): Promise<void>;
  endTunnel(tunnel: BoundTunnel): Promise<void>;
}

/** Ports of agents that may resume. They follow the rules of names: only an agent that is alive keeps its port. */
export class TunnelPorts {
  readonly #parts: TunnelPortsParts;

  constructor(parts: TunnelPortsParts) {
    this.#parts = parts;
  }

  /** Takes a port over from a dead session of the same credential. Null: nobody of this node has it, or has it any longer. */
  async free(claimant: Claimant, port: number): Promise<ClaimRefusal | null> {
    const holder = this.#holderOf(port);
    if (holder === undefined || holder.session.id === claimant.id) return null;
    const { session: other } = holder;
    if (other.credentialId !== claimant.credentialId) return portTaken(port);
    if (!other.isOnline) await this.#parts.endTunnel(holder);
    else if (!other.isSentAway && (await other.isAlive(HOLDER_ANSWERS_WITHIN_MS))) return portTaken(port);
    else {
      const reason = 'another agent took over the port because this one no longer responded';
      await this.#parts.endSession(other, reason);
    }
    // Another tunnel may have taken it while the holder was being checked.
    return this.free(claimant, port);
  }

  /** Another node decides about sessions with a home there. */
  #holderOf(port: number): BoundTunnel | undefined {
    for (const session of this.#parts.sessions()) {
      if (session.home !== null || session.isEnded) continue;
      for (const tunnel of session.tunnels.values()) if (tunnel.port === port) return tunnel;
    }
    return undefined;
  }
}

export function portTaken(port: number): ClaimRefusal {
  const message = `port ${port} is in use: request another one, or none to get a free port`;
  return { code: 'ERR_POSTERN_TUNNEL_PORT', message, retry: true };
}
