import type { Announcer } from '../nodes/directory/announced.ts';
import type { AgentSession } from './agent-session.ts';
import type { BoundTunnel } from './bound-tunnel.ts';
import { type DocumentFacts, endpointDoc, sessionDoc, tunnelDoc } from './session-docs.ts';

/** Tells the other nodes which sessions and tunnels this one reaches. */
export class Announcements {
  readonly #announcer: Announcer | null;
  readonly #nodeId: string;
  readonly #facts: DocumentFacts;

  constructor(announcer: Announcer | null, nodeId: string, facts: DocumentFacts) {
    this.#announcer = announcer;
    this.#nodeId = nodeId;
    this.#facts = facts;
  }

  session(session: AgentSession): void {
    this.#announcer?.putSession({
      id: session.id,
      credentialId: session.credentialId,
      homeNodeId: session.home ?? this.#nodeId,
      epoch: session.epoch,
      ...(session.home === null && { holders: [...new Set(session.remote.map(({ nodeId }) => nodeId))] }),
      doc: sessionDoc(session, this.#facts.region),
    });
  }

  sessionGone(session: AgentSession): void {
    this.#announcer?.removeSession(session.id);
  }

  tunnel(tunnel: BoundTunnel): void {
    const { id, session, labels, forwardsTo, endpointId, proto, host, modules } = tunnel;
    this.#announcer?.putTunnel({
      id,
      sessionId: session.id,
      epoch: session.epoch,
      doc: tunnelDoc(tunnel, this.#facts.region),
      labels,
      forwardsTo,
      endpoint:
        endpointId === null || proto === null
          ? null
          : { id: endpointId, proto, host, port: tunnel.port, modules, doc: endpointDoc(tunnel, this.#facts) },
    });
  }

  tunnelGone(tunnel: BoundTunnel): void {
    this.#announcer?.removeTunnel(tunnel.id);
  }
}
