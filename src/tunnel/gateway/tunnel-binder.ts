import { rfc3339 } from '../../kit/clock.ts';
import { labelsProblem } from '../../kit/text/labels.ts';
import type { Bind } from '../protocol/messages.ts';
import { MAX_TUNNELS_PER_SESSION } from '../protocol/protocol.ts';
import { type AgentSession, BoundTunnel, nameKey, portKey, type ReservedTunnel } from './agent-session.ts';
import type { GatewayPorts } from './ports.ts';
import type { SessionLife } from './session-life.ts';
import { Acl, type Claims, type HeldNames, type TunnelNames, type TunnelPorts } from './tunnel-names.ts';

/** Also by the agent's own number: it requests a tunnel again when the response was lost with a connection. */
function knownTunnel(session: AgentSession, bind: Bind): BoundTunnel | undefined {
  const byId = bind.id === undefined ? undefined : session.tunnels.get(bind.id);
  return byId ?? session.tunnels.values().find((tunnel) => tunnel.ref === bind.ref);
}

/** The tunnel that it was on a node that is gone: it gets the same ids and name again. */
function takeReserved(session: AgentSession, bind: Bind): ReservedTunnel | null {
  const byId = bind.id === undefined ? undefined : session.reserved.get(bind.id);
  const found = byId ?? session.reserved.values().find(({ ref }) => ref === bind.ref);
  if (found === undefined) return null;
  const isSame =
    found.proto === (bind.proto ?? null) &&
    JSON.stringify(found.labels) === JSON.stringify(bind.labels ?? null) &&
    (bind.port === undefined || bind.port === found.port) &&
    (bind.domain === undefined || bind.domain === '' || isHostOf(found.host, bind.domain.toLowerCase()));
  if (!isSame) return null;
  session.reserved.delete(found.id);
  return found;
}

function bindProblem(session: AgentSession, bind: Bind): BindRefusal | null {
  const invalid = (message: string): BindRefusal => ({ code: 'ERR_POSTERN_TUNNEL_INVALID', message, retry: false });
  if (session.tunnels.size >= MAX_TUNNELS_PER_SESSION) {
    const message = `an agent may have at most ${MAX_TUNNELS_PER_SESSION} tunnels: start another agent for more`;
    return { code: 'ERR_POSTERN_TUNNEL_LIMIT', message, retry: false };
  }
  if ((bind.labels === undefined) === (bind.proto === undefined)) {
    return invalid('a tunnel has either a protocol or labels');
  }
  if (bind.labels !== undefined) {
    if (Object.keys(bind.labels).length === 0) return invalid('a tunnel with labels requires at least one label');
    const problem = labelsProblem(bind.labels);
    if (problem !== null) return invalid(`the tunnel ${problem}`);
    if (bind.domain !== undefined || bind.port !== undefined || bind.modules !== undefined) {
      return invalid('a tunnel with labels has no domain, port or modules of its own: configure them on its edge');
    }
    return null;
  }
  if (bind.proto === 'tcp' && bind.domain !== undefined) return invalid('a tcp tunnel has a port and no domain');
  if (bind.proto !== 'tcp' && bind.port !== undefined) return invalid('only a tcp tunnel can request a port');
  return null;
}

/** `domain` is a full name, or the first label of one. */
function isHostOf(host: string | null, domain: string): boolean {
  return host !== null && (host === domain || host.startsWith(`${domain}.`));
}

/** Free here, but another node has them: rare, because tcp tunnels listen on all nodes. */
const MAX_PORTS_TRIED = 20;

interface BindRefusal {
  readonly code: string;
  readonly message: string;
  readonly retry: boolean;
}

interface BinderParts {
  readonly ports: GatewayPorts;
  readonly names: TunnelNames;
  readonly heldNames: HeldNames;
  readonly tcpPorts: TunnelPorts;
  readonly claims: Claims;
  readonly life: SessionLife;
}

/** Turns an agent's bind request into a tunnel that receives traffic, or returns the reason for a refusal. */
export class TunnelBinder {
  readonly #parts: BinderParts;

  constructor(parts: BinderParts) {
    this.#parts = parts;
  }

  async bind(session: AgentSession, bind: Bind): Promise<BoundTunnel | BindRefusal> {
    const known = knownTunnel(session, bind);
    if (known !== undefined && this.#isSame(known, bind)) return this.#bindAgain(known, bind);
    if (known !== undefined) await this.#parts.life.endTunnel(known);
    const problem = bindProblem(session, bind);
    if (problem !== null) return problem;
    const credential = this.#parts.ports.credentials.get(session.credentialId);
    if (credential === null) {
      return { code: 'ERR_POSTERN_AGENT_REVOKED', message: 'the credential of this agent was deleted', retry: false };
    }
    const acl = new Acl(credential.acl);
    const forbidden = acl.forbiddenModules(bind.modules ?? {});
    if (forbidden.length > 0) {
      return { code: 'ERR_POSTERN_TUNNEL_ACL', message: modulesNotAllowed(forbidden), retry: false };
    }
    const old = takeReserved(session, bind);
    return bind.labels === undefined
      ? this.#bindEndpoint(session, bind, acl, old)
      : this.#bindLabels(session, bind, acl, old);
  }

  /** Whether the credential still allows the tunnel. */
  isAllowed(tunnel: BoundTunnel, rules: readonly string[]): boolean {
    const acl = new Acl(rules);
    if (acl.forbiddenModules(tunnel.modules).length > 0) return false;
    if (tunnel.labels !== null) return acl.allowsLabels(tunnel.labels);
    return tunnel.host === null ? acl.allowsPorts() : acl.allowsHost(tunnel.host);
  }

  /** The agent has resumed: same ids, same name. */
  async #bindAgain(tunnel: BoundTunnel, bind: Bind): Promise<BoundTunnel> {
    tunnel.ref = bind.ref;
    tunnel.metadata = bind.metadata;
    tunnel.forwardsTo = bind.forwards_to;
    await this.#parts.life.online(tunnel);
    return tunnel;
  }

  async #bindLabels(
    session: AgentSession,
    bind: Bind,
    acl: Acl,
    old: ReservedTunnel | null,
  ): Promise<BoundTunnel | BindRefusal> {
    const labels = bind.labels ?? {};
    if (!acl.allowsLabels(labels)) {
      const missing = Object.entries(labels).map(([key, value]) => `"bind:${key}=${value}"`);
      return {
        code: 'ERR_POSTERN_TUNNEL_ACL',
        message: `the acl of this credential does not allow all of these labels: it needs ${missing.join(', ')}`,
        retry: false,
      };
    }
    const tunnel = this.#newTunnel(session, bind, null, old);
    session.tunnels.set(tunnel.id, tunnel);
    await this.#parts.life.online(tunnel);
    return tunnel;
  }

  async #bindEndpoint(
    session: AgentSession,
    bind: Bind,
    acl: Acl,
    old: ReservedTunnel | null,
  ): Promise<BoundTunnel | BindRefusal> {
    const proto = bind.proto ?? 'https';
    const tunnel = await (proto === 'tcp'
      ? this.#publishPort(session, bind, acl, old)
      : this.#publishHost(session, bind, acl, old));
    if ('code' in tunnel) return tunnel;
    // While a name or port was being chosen, the session may have ended or lost its permission: nobody else would clean
    // this up.
    const gone = this.#goneMeanwhile(session, tunnel);
    if (gone !== null) {
      this.#parts.ports.endpoints.withdraw(tunnel.endpointId ?? '');
      this.#giveBack(session, tunnel);
      return gone;
    }
    session.tunnels.set(tunnel.id, tunnel);
    await this.#parts.life.online(tunnel);
    return tunnel;
  }

  /** The name is this session's in the whole installation before anything is published. */
  async #publishHost(
    session: AgentSession,
    bind: Bind,
    acl: Acl,
    old: ReservedTunnel | null,
  ): Promise<BoundTunnel | BindRefusal> {
    const { names, heldNames, claims } = this.#parts;
    const domain = bind.domain ?? old?.host ?? undefined;
    for (;;) {
      const chosen = await names.choose(session, acl, { proto: bind.proto, domain });
      if ('code' in chosen) return chosen;
      const { host } = chosen;
      const tunnel = this.#newTunnel(session, bind, host, old);
      if (!heldNames.hold(host, tunnel)) continue;
      const claimed = await claims.claim(session, nameKey(host), host);
      if (claimed !== 'claimed') heldNames.release(host, tunnel);
      if (claimed === 'again') continue;
      if (claimed !== 'claimed') return claimed;
      const published = await this.#publish(tunnel, null);
      if (published === null) return tunnel;
      this.#giveBack(session, tunnel);
      return published;
    }
  }

  /** Which port is free is known only once it is open. Until the tunnel is online, its connections are closed. */
  async #publishPort(
    session: AgentSession,
    bind: Bind,
    acl: Acl,
    old: ReservedTunnel | null,
  ): Promise<BoundTunnel | BindRefusal> {
    if (!acl.allowsPorts()) {
      const message =
        'the acl of this credential does not allow TCP tunnels: add "bind:*", or remove its "bind:" rules';
      return { code: 'ERR_POSTERN_TUNNEL_ACL', message, retry: false };
    }
    const wanted = bind.port ?? old?.port ?? null;
    for (let left = MAX_PORTS_TRIED; ; left -= 1) {
      const held = wanted === null ? null : await this.#parts.tcpPorts.free(session, wanted);
      if (held !== null) return held;
      const tunnel = this.#newTunnel(session, bind, null, old);
      const refused = await this.#publish(tunnel, wanted);
      if (refused !== null) return refused;
      const port = tunnel.port ?? 0;
      const claimed = await this.#parts.claims.claim(session, portKey(port), `port ${port}`, wanted === null);
      if (claimed === 'claimed') return tunnel;
      this.#parts.ports.endpoints.withdraw(tunnel.endpointId ?? '');
      if (claimed === 'again' || (wanted === null && claimed.code === 'ERR_POSTERN_TUNNEL_PORT' && left > 0)) continue;
      return claimed;
    }
  }

  async #publish(tunnel: BoundTunnel, port: number | null): Promise<BindRefusal | null> {
    const published = await this.#parts.ports.endpoints.publish({
      id: tunnel.endpointId ?? '',
      tunnelId: tunnel.id,
      proto: tunnel.proto ?? 'https',
      host: tunnel.host,
      port,
      modules: tunnel.modules,
    });
    if (!published.ok) return published;
    tunnel.publicUrl = published.publicUrl;
    tunnel.hostport = published.hostport;
    return null;
  }

  /**
   * Returns the tunnel's name or port, unless another tunnel of the session has the same name on the other listener.
   */
  #giveBack(session: AgentSession, tunnel: BoundTunnel): void {
    const { heldNames, claims } = this.#parts;
    if (tunnel.host !== null) heldNames.release(tunnel.host, tunnel);
    const owned = [...session.tunnels.values()].flatMap(({ claimKeys }) => claimKeys);
    const keys = tunnel.claimKeys.filter((key) => !owned.includes(key));
    claims.release(session, keys, Promise.resolve());
  }

  #goneMeanwhile(session: AgentSession, tunnel: BoundTunnel): BindRefusal | null {
    const acl = this.#parts.ports.credentials.get(session.credentialId)?.acl;
    if (session.isEnded || session.home !== null || acl === undefined) {
      return { code: 'ERR_POSTERN_AGENT_SESSION', message: 'the session of this agent has ended', retry: true };
    }
    const { host } = tunnel;
    if (host !== null && !this.#parts.heldNames.isHolder(host, tunnel)) {
      const message = `${host} was taken over by another agent while this one was not connected`;
      return { code: 'ERR_POSTERN_TUNNEL_NAME_TAKEN', message, retry: true };
    }
    if (this.isAllowed(tunnel, acl)) return null;
    return { code: 'ERR_POSTERN_TUNNEL_ACL', message: noLongerAllowed(tunnel, acl), retry: false };
  }

  #isSame(tunnel: BoundTunnel, bind: Bind): boolean {
    const wanted = bind.domain?.toLowerCase();
    const isWantedHost =
      wanted === undefined || tunnel.host === wanted || tunnel.host === `${wanted}.${this.#parts.ports.domain}`;
    const isWantedPort = bind.port === undefined || tunnel.hostport?.endsWith(`:${bind.port}`) === true;
    return (
      isWantedHost &&
      isWantedPort &&
      tunnel.proto === (bind.proto ?? null) &&
      JSON.stringify(tunnel.labels) === JSON.stringify(bind.labels ?? null) &&
      JSON.stringify(tunnel.modules) === JSON.stringify(bind.modules ?? {})
    );
  }

  #newTunnel(session: AgentSession, bind: Bind, host: string | null, old: ReservedTunnel | null): BoundTunnel {
    const { ports } = this.#parts;
    const newEndpoint = (): string | null => (bind.labels === undefined ? ports.newId('ep') : null);
    return new BoundTunnel(session, {
      id: old?.id ?? ports.newId('tn'),
      startedAt: old?.started_at ?? rfc3339(ports.clock.nowMs()),
      endpointId: old?.endpoint_id ?? newEndpoint(),
      host,
      bind,
    });
  }
}

function noLongerAllowed({ host, labels, modules }: BoundTunnel, rules: readonly string[]): string {
  const forbidden = new Acl(rules).forbiddenModules(modules);
  if (forbidden.length > 0) return modulesNotAllowed(forbidden);
  const what = labels === null ? [host ?? '*'] : Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const needed = what.map((each) => `"bind:${each}"`).join(', ');
  return `the acl of this credential no longer allows this tunnel: it needs ${needed}`;
}

function modulesNotAllowed(modules: readonly string[]): string {
  const rules = modules.map((name) => `"configure:${name}"`).join(', ');
  return `the acl of this credential does not allow agents to configure ${modules.join(', ')}: it needs ${rules}, or "configure:*"`;
}

interface CredentialChangePorts {
  sessions(): readonly AgentSession[];
  isAllowed(tunnel: BoundTunnel, acl: readonly string[]): boolean;
  endSession(session: AgentSession, code: string, reason: string): void;
  /** The session's home is another node, which may not be linked. */
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
