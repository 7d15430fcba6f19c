import { type Periodic, periodically } from '../../kit/async/waiting.ts';
import type { Clock } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { Lease, PresenceStore } from '../../store/store.ts';
import type { Announcer } from '../nodes/directory/announced.ts';
import { ALPN } from '../protocol/protocol.ts';
import type { AgentSession, BoundTunnel } from './agent-session.ts';
import type { GatewayPorts } from './ports.ts';

/** What the documents of endpoints need besides the tunnel. */
type DocumentFacts = Pick<GatewayPorts, 'region' | 'entryRules'>;

/** What `GET /tunnel_sessions` shows. */
function sessionDoc({ hello, connections, startedAt, problems }: AgentSession, region: string): JsonObject {
  return {
    agent_version: hello.agent_version,
    ip: connections[0]?.remoteAddress ?? '',
    metadata: hello.metadata,
    os: hello.os,
    region,
    started_at: startedAt,
    transport: ALPN,
    remote_management: hello.remote_management,
    // For the list of problems.
    ...(problems.length > 0 && { problems: [...problems] }),
  };
}

/** What `GET /tunnels` shows. */
function tunnelDoc(tunnel: BoundTunnel, region: string): JsonObject {
  return {
    ...(tunnel.publicUrl !== null && { public_url: tunnel.publicUrl }),
    started_at: tunnel.startedAt,
    metadata: tunnel.metadata,
    session_metadata: tunnel.session.hello.metadata,
    ...(tunnel.proto !== null && { proto: tunnel.proto }),
    region,
    ...(tunnel.endpointId !== null && { endpoint_id: tunnel.endpointId }),
    ...(tunnel.labels !== null && { labels: { ...tunnel.labels } }),
    forwards_to: tunnel.forwardsTo,
  };
}

/** What `GET /endpoints` shows. */
function endpointDoc(tunnel: BoundTunnel, { region, entryRules }: DocumentFacts): JsonObject {
  return {
    region,
    created_at: tunnel.startedAt,
    updated_at: tunnel.startedAt,
    public_url: tunnel.publicUrl ?? '',
    proto: tunnel.proto ?? '',
    hostport: tunnel.hostport ?? '',
    type: 'ephemeral',
    metadata: tunnel.metadata,
    tunnel_id: tunnel.id,
    ...(entryRules !== undefined && { entry_rules: [...entryRules(tunnel.modules)] }),
  };
}

type LeaseKey = Pick<Lease, 'kind' | 'id'>;

/** A dead process is no longer listed after this time. */
const LEASE_MS = 15_000;
const RENEW_MS = 5_000;
/** Longer than the time between two looks for alerts. */
const FAREWELL_MS = 60_000;

interface PresenceOptions extends DocumentFacts {
  readonly store: PresenceStore;
  readonly clock: Clock;
  readonly bootId: string;
  sessions(): Iterable<AgentSession>;
  /** Whether an agent must wait for the store. Otherwise a failed write is repeated with the next renewal. */
  readonly isEssential: boolean;
  onProblem(error: unknown): void;
}

/** Publishes who is online in the store, for the API. Uses leases, because a killed process cannot sign off. */
export class Presence {
  readonly #options: PresenceOptions;
  readonly #renewals: Periodic;
  /** Leases that could not be removed: renewing would keep them for the life of this process. */
  readonly #notRemoved = new Map<string, LeaseKey>();
  readonly #stopResets: () => void;
  /** Since when they are listed, by the id of the session. */
  readonly #farewells = new Map<string, number>();
  #renewedAtMs: number;

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#renewedAtMs = options.clock.nowMs();
    this.#renewals = periodically(() => this.#renew(), RENEW_MS);
    // Leases written after the state that the store was reset to are gone: the next renewal writes all of them again.
    this.#stopResets = options.store.onReset(() => {
      this.#renewedAtMs = 0;
    });
  }

  listSession(session: AgentSession): Promise<void> {
    return this.#put([this.#sessionLease(session)]);
  }

  listTunnel(tunnel: BoundTunnel): Promise<void> {
    return this.#put(this.#tunnelLeases(tunnel));
  }

  unlistTunnels(tunnels: readonly BoundTunnel[]): Promise<void> {
    return this.#remove(tunnels.flatMap(keysOf));
  }

  unlistSession(session: AgentSession): Promise<void> {
    const tunnels = [...session.tunnels.values()].flatMap(keysOf);
    return this.#remove([...tunnels, { kind: 'tunnel_session', id: session.id }]);
  }

  /** The agent ends on purpose, which is no reason for an alert. Every node can see it for a minute. */
  farewell({ id, credentialId, hello: { metadata } }: AgentSession): Promise<void> {
    this.#farewells.set(id, this.#options.clock.nowMs());
    return this.#put([this.#lease('farewell', id, null, credentialId, { metadata })]);
  }

  close(): void {
    void this.#renewals.close();
    this.#stopResets();
  }

  async #renew(): Promise<void> {
    const { store, clock, bootId } = this.#options;
    const nowMs = clock.nowMs();
    try {
      await this.#remove([...this.#notRemoved.values(), ...this.#pastFarewells(nowMs)]);
      // The store or this process was stalled: expired leases may have been deleted.
      if (nowMs - this.#renewedAtMs >= LEASE_MS) await this.#put(this.#everything());
      else await store.renew(bootId, this.#expiresAtMs());
      this.#renewedAtMs = nowMs;
    } catch (error) {
      this.#options.onProblem(error);
    }
  }

  #pastFarewells(nowMs: number): readonly LeaseKey[] {
    const past = [...this.#farewells].filter(([, atMs]) => nowMs - atMs > FAREWELL_MS).map(([id]) => id);
    for (const id of past) this.#farewells.delete(id);
    return past.map((id) => ({ kind: 'farewell', id }));
  }

  #everything(): readonly Lease[] {
    const online = [...this.#options.sessions()].filter((session) => session.isOnline && session.home === null);
    return online.flatMap((session) => [
      this.#sessionLease(session),
      ...[...session.tunnels.values()]
        .filter(({ isListed }) => isListed)
        .flatMap((tunnel) => this.#tunnelLeases(tunnel)),
    ]);
  }

  #sessionLease(session: AgentSession): Lease {
    const doc = sessionDoc(session, this.#options.region);
    return this.#lease('tunnel_session', session.id, null, session.credentialId, doc);
  }

  #tunnelLeases(tunnel: BoundTunnel): readonly Lease[] {
    const { session, endpointId } = tunnel;
    const { region } = this.#options;
    const leases = [this.#lease('tunnel', tunnel.id, session.id, session.credentialId, tunnelDoc(tunnel, region))];
    if (endpointId !== null) {
      const doc = endpointDoc(tunnel, this.#options);
      leases.push(this.#lease('endpoint', endpointId, tunnel.id, session.credentialId, doc));
    }
    return leases;
  }

  async #put(leases: readonly Lease[]): Promise<void> {
    if (leases.length === 0) return;
    // The tunnel returned before it was removed.
    for (const lease of leases) this.#notRemoved.delete(nameOf(lease));
    const written = this.#options.store.put(leases);
    if (this.#options.isEssential) return written;
    return written.catch((error: unknown) => {
      this.#renewedAtMs = 0;
      this.#options.onProblem(error);
    });
  }

  async #remove(keys: readonly LeaseKey[]): Promise<void> {
    if (keys.length === 0) return;
    for (const key of keys) this.#notRemoved.set(nameOf(key), key);
    try {
      await this.#options.store.remove(keys);
      for (const key of keys) if (this.#notRemoved.get(nameOf(key)) === key) this.#notRemoved.delete(nameOf(key));
    } catch (error) {
      this.#options.onProblem(error);
    }
  }

  #lease(kind: Lease['kind'], id: string, parent: string | null, credentialId: string, doc: JsonObject): Lease {
    return { kind, id, parent, credentialId, bootId: this.#options.bootId, expiresAtMs: this.#expiresAtMs(), doc };
  }

  #expiresAtMs(): number {
    return this.#options.clock.nowMs() + LEASE_MS;
  }
}

function keysOf(tunnel: BoundTunnel): LeaseKey[] {
  const keys: LeaseKey[] = [{ kind: 'tunnel', id: tunnel.id }];
  if (tunnel.endpointId !== null) keys.push({ kind: 'endpoint', id: tunnel.endpointId });
  return keys;
}

function nameOf({ kind, id }: LeaseKey): string {
  return `${kind} ${id}`;
}

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
