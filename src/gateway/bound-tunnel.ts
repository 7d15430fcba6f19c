import type { AgentLink, OnlineTunnel } from '../edge/tunnels/online-tunnels.ts';
import { type Shortage, shortageOf } from '../lib/net/shared-places.ts';
import { splitAddress } from '../lib/net/split-address.ts';
import type { Bind } from '../tunnel/messages.ts';
import { TunnelUse } from '../tunnel/tunnel-use.ts';
import type { AgentSession } from './agent-session.ts';

/** One owner per host, on both listeners. */
export function nameKey(host: string): string {
  return `name ${host}`;
}

export function portKey(port: number): string {
  return `port ${port}`;
}

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
  readonly use = new TunnelUse();
  ref: number;
  metadata: string;
  forwardsTo: string;
  modules: NonNullable<Bind['modules']>;
  /** Its agent is connected, here or to another node, and it was announced as online. */
  isListed = false;
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

  /** Names and ports belong to one agent in the whole installation; labels to all that have them. */
  link(tried?: readonly AgentLink[], visitor?: string): AgentLink | null {
    if (this.proto !== null && !this.#session.right.mayServe()) return null;
    return this.#session.link(tried, visitor);
  }

  shortage(visitor: string | undefined): Shortage | null {
    if (this.proto !== null && !this.#session.right.mayServe()) return null;
    return shortageOf(this.#session.local, visitor);
  }

  get isSuspended(): boolean {
    return this.proto !== null && this.#session.local.length > 0 && !this.#session.right.mayServe();
  }

  /** For tcp: the port that clients connect to. */
  get port(): number | null {
    if (this.proto !== 'tcp' || this.hostport === null) return null;
    return splitAddress(this.hostport).port;
  }

  /** Names and ports that no other session may have. */
  get claimKeys(): readonly string[] {
    if (this.host !== null) return [nameKey(this.host)];
    return this.port === null ? [] : [portKey(this.port)];
  }
}
