import type { AgentSession } from './agent-session.ts';
import type { BoundTunnel } from './bound-tunnel.ts';
import { noLongerAllowed } from './tunnel-binder.ts';

export interface CredentialChangePorts {
  sessions(): readonly AgentSession[];
  isAllowed(tunnel: BoundTunnel, acl: readonly string[]): boolean;
  endSession(session: AgentSession, code: string, reason: string): void;
  /** Its home is another node, which may not be linked. */
  cutCopy(session: AgentSession, code: string, reason: string): void;
  endTunnel(tunnel: BoundTunnel): void;
}

/** A deleted credential ends its sessions; a narrower acl ends the tunnels that it no longer allows. */
export function applyCredentialChange(
  credentialId: string,
  credential: { readonly acl: readonly string[] } | null,
  ports: CredentialChangePorts,
): void {
  for (const session of ports.sessions()) {
    if (session.credentialId !== credentialId) continue;
    if (credential === null) {
      const reason = 'the token of this agent was deleted: configure another one';
      if (session.home === null) ports.endSession(session, 'ERR_POSTERN_AGENT_REVOKED', reason);
      else ports.cutCopy(session, 'ERR_POSTERN_AGENT_REVOKED', reason);
      continue;
    }
    if (session.home !== null) continue;
    for (const tunnel of [...session.tunnels.values()]) {
      if (ports.isAllowed(tunnel, credential.acl)) continue;
      const message = noLongerAllowed(tunnel, credential.acl);
      const [connection] = session.connections;
      connection?.send({ t: 'unbound', ref: tunnel.ref, code: 'ERR_POSTERN_TUNNEL_ACL', message, retry: false });
      ports.endTunnel(tunnel);
    }
  }
}
