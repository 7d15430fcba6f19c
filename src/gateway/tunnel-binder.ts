import { rfc3339 } from '../lib/clock.ts';
import { labelsProblem } from '../lib/labels.ts';
import type { Bind } from '../tunnel/messages.ts';
import { MAX_TUNNELS_PER_SESSION } from '../tunnel/protocol.ts';
import { Acl } from './acl.ts';
import type { AgentSession } from './agent-session.ts';
import { BoundTunnel } from './bound-tunnel.ts';
import type { OnlineTunnelTable } from './online-tunnel-table.ts';
import type { GatewayPorts } from './ports.ts';
import type { Presence } from './presence.ts';
import type { TunnelNames } from './tunnel-names.ts';

export interface BindRefusal {
  readonly code: string;
  readonly message: string;
  readonly retry: boolean;
}

interface BinderParts {
  readonly ports: GatewayPorts;
  readonly names: TunnelNames;
  readonly table: OnlineTunnelTable;
  readonly presence: Presence;
  endTunnel(tunnel: BoundTunnel): Promise<void>;
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
    if (known !== undefined) await this.#parts.endTunnel(known);
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
    return bind.labels === undefined ? this.#bindEndpoint(session, bind, acl) : this.#bindLabels(session, bind, acl);
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
    await this.#online(tunnel);
    return tunnel;
  }

  async #bindLabels(session: AgentSession, bind: Bind, acl: Acl): Promise<BoundTunnel | BindRefusal> {
    const labels = bind.labels ?? {};
    if (!acl.allowsLabels(labels)) {
      const missing = Object.entries(labels).map(([key, value]) => `"bind:${key}=${value}"`);
      return {
        code: 'ERR_POSTERN_TUNNEL_ACL',
        message: `the acl of this credential does not allow all of these labels: it needs ${missing.join(', ')}`,
        retry: false,
      };
    }
    const tunnel = this.#newTunnel(session, bind, null);
    session.tunnels.set(tunnel.id, tunnel);
    await this.#online(tunnel);
    return tunnel;
  }

  async #bindEndpoint(session: AgentSession, bind: Bind, acl: Acl): Promise<BoundTunnel | BindRefusal> {
    const { names, ports } = this.#parts;
    const proto = bind.proto ?? 'https';
    let tunnel: BoundTunnel;
    if (proto === 'tcp') {
      if (!acl.allowsPorts()) {
        const message =
          'the acl of this credential does not allow TCP tunnels: add "bind:*", or remove its "bind:" rules';
        return { code: 'ERR_POSTERN_TUNNEL_ACL', message, retry: false };
      }
      tunnel = this.#newTunnel(session, bind, null);
    } else {
      let isHeld: boolean;
      do {
        const chosen = await names.choose(session, acl, bind);
        if ('code' in chosen) return chosen;
        tunnel = this.#newTunnel(session, bind, chosen.host);
        isHeld = names.hold(chosen.host, tunnel);
      } while (!isHeld);
    }
    const { host } = tunnel;
    const published = await ports.endpoints.publish({
      id: tunnel.endpointId ?? '',
      tunnelId: tunnel.id,
      proto,
      host,
      port: bind.port ?? null,
      modules: tunnel.modules,
    });
    if (!published.ok) {
      if (host !== null) names.release(host, tunnel);
      return published;
    }
    // While a name or port was being chosen, the session may have ended or lost its permission: nobody else would clean
    // this up.
    const gone = this.#goneMeanwhile(session, tunnel);
    if (gone !== null) {
      ports.endpoints.withdraw(tunnel.endpointId ?? '');
      if (host !== null) names.release(host, tunnel);
      return gone;
    }
    tunnel.publicUrl = published.publicUrl;
    tunnel.hostport = published.hostport;
    session.tunnels.set(tunnel.id, tunnel);
    await this.#online(tunnel);
    return tunnel;
  }

  #goneMeanwhile(session: AgentSession, tunnel: BoundTunnel): BindRefusal | null {
    const acl = this.#parts.ports.credentials.get(session.credentialId)?.acl;
    if (session.isEnded || acl === undefined) {
      return { code: 'ERR_POSTERN_AGENT_SESSION', message: 'the session of this agent has ended', retry: true };
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

  #newTunnel(session: AgentSession, bind: Bind, host: string | null): BoundTunnel {
    const { ports } = this.#parts;
    return new BoundTunnel(session, {
      id: ports.newId('tn'),
      startedAt: rfc3339(ports.clock.nowMs()),
      endpointId: bind.labels === undefined ? ports.newId('ep') : null,
      host,
      bind,
    });
  }

  /** Traffic first, then the list: a listed tunnel receives traffic. */
  async #online(tunnel: BoundTunnel): Promise<void> {
    const { table, presence, ports } = this.#parts;
    // The agent may have disconnected while a name was being chosen.
    if (!tunnel.session.isOnline) return;
    const isNew = table.get(tunnel.id) !== tunnel;
    table.add(tunnel);
    await presence.listTunnel(tunnel);
    if (isNew) ports.events.tunnelStarted(tunnel.id);
  }
}

export function noLongerAllowed({ host, labels, modules }: BoundTunnel, rules: readonly string[]): string {
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

/** Also by the agent's own number: it requests a tunnel again when the response was lost with a connection. */
function knownTunnel(session: AgentSession, bind: Bind): BoundTunnel | undefined {
  const byId = bind.id === undefined ? undefined : session.tunnels.get(bind.id);
  return byId ?? session.tunnels.values().find((tunnel) => tunnel.ref === bind.ref);
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
