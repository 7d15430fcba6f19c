import type { Clock } from '../lib/clock.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Lease, PresenceStore } from '../store/store.ts';
import { ALPN } from '../tunnel/protocol.ts';
import type { AgentSession } from './agent-session.ts';
import type { BoundTunnel } from './bound-tunnel.ts';

/** A process that dies is no longer listed after this. */
const LEASE_MS = 15_000;
const RENEW_MS = 5_000;

export interface PresenceOptions {
  readonly store: PresenceStore;
  readonly clock: Clock;
  readonly bootId: string;
  readonly region: string;
  onProblem(error: unknown): void;
}

/** Who is online, in the store: what the API lists. Leases, because a process that was killed cannot say goodbye. */
export class Presence {
  readonly #options: PresenceOptions;
  readonly #timer: NodeJS.Timeout;

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#timer = setInterval(() => {
      options.store.renew(options.bootId, this.#expiresAtMs()).catch((error: unknown) => options.onProblem(error));
    }, RENEW_MS).unref();
  }

  listSession(session: AgentSession): Promise<void> {
    const { hello } = session;
    return this.#options.store.put([
      this.#lease('tunnel_session', session.id, null, session.credentialId, {
        agent_version: hello.agent_version,
        ip: session.connections[0]?.remoteAddress ?? '',
        metadata: hello.metadata,
        os: hello.os,
        region: this.#options.region,
        started_at: session.startedAt,
        transport: ALPN,
        remote_management: hello.remote_management,
      }),
    ]);
  }

  listTunnel(tunnel: BoundTunnel): Promise<void> {
    const { session } = tunnel;
    const { region } = this.#options;
    const leases = [
      this.#lease('tunnel', tunnel.id, session.id, session.credentialId, {
        ...(tunnel.url !== null && { public_url: tunnel.url }),
        started_at: tunnel.startedAt,
        metadata: tunnel.metadata,
        session_metadata: session.hello.metadata,
        ...(tunnel.proto !== null && { proto: tunnel.proto }),
        region,
        ...(tunnel.endpointId !== null && { endpoint_id: tunnel.endpointId }),
        ...(tunnel.labels !== null && { labels: { ...tunnel.labels } }),
        forwards_to: tunnel.forwardsTo,
      }),
    ];
    if (tunnel.endpointId !== null) {
      const endpoint = {
        region,
        created_at: tunnel.startedAt,
        updated_at: tunnel.startedAt,
        public_url: tunnel.url ?? '',
        proto: tunnel.proto ?? '',
        hostport: tunnel.hostport ?? '',
        type: 'ephemeral',
        metadata: tunnel.metadata,
        tunnel_id: tunnel.id,
      };
      leases.push(this.#lease('endpoint', tunnel.endpointId, tunnel.id, session.credentialId, endpoint));
    }
    return this.#options.store.put(leases);
  }

  unlistTunnels(tunnels: readonly BoundTunnel[]): Promise<void> {
    return this.#remove(tunnels.flatMap(keysOf));
  }

  unlistSession(session: AgentSession): Promise<void> {
    const tunnels = [...session.tunnels.values()].flatMap(keysOf);
    return this.#remove([...tunnels, { kind: 'tunnel_session', id: session.id }]);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #remove(keys: readonly { readonly kind: Lease['kind']; readonly id: string }[]): Promise<void> {
    if (keys.length === 0) return;
    try {
      await this.#options.store.remove(keys);
    } catch (error) {
      // They run out by themselves.
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

function keysOf(tunnel: BoundTunnel): { readonly kind: Lease['kind']; readonly id: string }[] {
  const keys: { readonly kind: Lease['kind']; readonly id: string }[] = [{ kind: 'tunnel', id: tunnel.id }];
  if (tunnel.endpointId !== null) keys.push({ kind: 'endpoint', id: tunnel.endpointId });
  return keys;
}
