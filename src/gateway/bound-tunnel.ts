import type { AgentLink, OnlineTunnel } from '../edge/tunnels/online-tunnels.ts';
import type { Bind } from '../tunnel/messages.ts';
import type { AgentSession } from './agent-session.ts';

/**
 * A tunnel that an agent has bound. It outlives its session's connections for as long as the session can be resumed.
 */
export class BoundTunnel implements OnlineTunnel {
  readonly id: string;
  readonly startedAt: string;
  readonly labels: Readonly<Record<string, string>> | null;
  readonly proto: NonNullable<Bind['proto']> | null;
  readonly endpointId: string | null;
  readonly host: string | null;
  inFlight = 0;
  ref: number;
  metadata: string;
  forwardsTo: string;
  modules: NonNullable<Bind['modules']>;
  /** Set once it is published. */
  publicUrl: string | null = null;
  hostport: string | null = null;
  readonly #session: AgentSession;

  constructor(
    session: AgentSession,
    facts: {
      readonly id: string;
      readonly startedAt: string;
      readonly endpointId: string | null;
      readonly host: string | null;
      readonly bind: Bind;
    },
  ) {
    this.#session = session;
    this.id = facts.id;
    this.startedAt = facts.startedAt;
    this.endpointId = facts.endpointId;
    this.host = facts.host;
    this.labels = facts.bind.labels ?? null;
    this.proto = facts.bind.proto ?? null;
    this.ref = facts.bind.ref;
    this.metadata = facts.bind.metadata;
    this.forwardsTo = facts.bind.forwards_to;
    this.modules = facts.bind.modules ?? {};
  }

  get session(): AgentSession {
    return this.#session;
  }

  link(): AgentLink | null {
    return this.#session.link();
  }
}
