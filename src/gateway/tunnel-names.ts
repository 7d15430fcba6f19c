import { isHostOrBelow } from '../lib/net/host-below.ts';
import { hostNameProblem } from '../lib/net/host-name.ts';
import type { Bind } from '../tunnel/messages.ts';
import type { Acl } from './acl.ts';
import type { AgentSession } from './agent-session.ts';
import type { BoundTunnel } from './bound-tunnel.ts';
import type { ClaimRefusal } from './claims.ts';
import type { GatewayErrorCode } from './errors.ts';
import { ephemeralName } from './names.ts';

export const HOLDER_ANSWERS_WITHIN_MS = 2_000;

/** A session that wants a name, on this node or on another one. */
export type Claimant = Pick<AgentSession, 'id' | 'credentialId'>;

export interface TunnelNamesPorts {
  readonly domain: string;
  readonly identityHostname: string | null;
  isCoveredByEdge(host: string): boolean;
  /** Ends a session whose agent is gone, or one of its tunnels. */
  endSession(session: AgentSession, reason: string): void;
  endTunnel(tunnel: BoundTunnel, reason: string): void;
}

type Proto = NonNullable<Bind['proto']>;

/** The listeners that names belong to: http on one, https and tls on the other. */
const LISTENERS = ['plain', 'tls'] as const;

/** Which tunnel holds which host, including those of agents that may resume. */
export class TunnelNames {
  readonly #holders = new Map<string, BoundTunnel>();
  readonly #ports: TunnelNamesPorts;

  constructor(ports: TunnelNamesPorts) {
    this.#ports = ports;
  }

  /** Names equal to this host, or one label below it when it is a wildcard. */
  under(host: string): readonly string[] {
    if (!host.startsWith('*.')) return this.#isHeld(host) ? [host] : [];
    const suffix = host.slice(1);
    return [...this.#holders.values()]
      .map((tunnel) => tunnel.host ?? '')
      .filter((name) => name.endsWith(suffix) && !name.slice(0, -suffix.length).includes('.'));
  }

  /** False when another tunnel took it first. */
  hold(host: string, tunnel: BoundTunnel): boolean {
    const key = keyOf(host, tunnel.proto);
    if (this.#holders.has(key)) return false;
    this.#holders.set(key, tunnel);
    return true;
  }

  isHolder(host: string, tunnel: BoundTunnel): boolean {
    return this.#holders.get(keyOf(host, tunnel.proto)) === tunnel;
  }

  release(host: string, tunnel: BoundTunnel): void {
    const key = keyOf(host, tunnel.proto);
    if (this.#holders.get(key) === tunnel) this.#holders.delete(key);
  }

  /** A host that the session may use: the requested one, or a new one. */
  async choose(
    session: Claimant,
    acl: Acl,
    { domain: wanted, proto = 'https' }: { readonly domain?: string | undefined; readonly proto?: Proto | undefined },
  ): Promise<{ readonly host: string } | ClaimRefusal> {
    if (wanted !== undefined && wanted !== '') return this.#claim(session, acl, wanted.toLowerCase(), proto);
    for (;;) {
      const host = `${ephemeralName()}.${this.#ports.domain}`;
      if (!acl.allowsHost(host)) {
        return refusal(
          'ERR_POSTERN_TUNNEL_ACL',
          `the acl of this credential does not allow generated names under ${this.#ports.domain}: request an allowed name with --domain, or add "bind:*.${this.#ports.domain}" to the acl`,
        );
      }
      // A wildcard edge on the base domain covers them all: a random name collides with no particular host.
      if (!this.#isHeld(host)) return { host };
    }
  }

  async #claim(
    session: Claimant,
    acl: Acl,
    wanted: string,
    proto: Proto,
  ): Promise<{ readonly host: string } | ClaimRefusal> {
    const host = wanted.includes('.') ? wanted : `${wanted}.${this.#ports.domain}`;
    const problem = hostNameProblem(host, 'refused');
    if (problem !== null)
      return refusal('ERR_POSTERN_TUNNEL_INVALID', `the domain "${host}" cannot be used: ${problem}`);
    const { identityHostname } = this.#ports;
    if (identityHostname !== null && isHostOrBelow(host, identityHostname)) {
      return refusal(
        'ERR_POSTERN_TUNNEL_NAME_TAKEN',
        `${host} is the identity host ${identityHostname} or below it, which no tunnel may have: use another name`,
      );
    }
    if (!acl.allowsHost(host)) {
      return refusal(
        'ERR_POSTERN_TUNNEL_ACL',
        `the acl of this credential does not allow ${host}: add "bind:${host}" to the acl`,
      );
    }
    if (this.#ports.isCoveredByEdge(host) && !acl.namesExactly(host)) {
      return refusal(
        'ERR_POSTERN_TUNNEL_NAME_TAKEN',
        `${host} belongs to an edge: use another name, or add "bind:${host}" to the credential's acl to take it from a wildcard`,
      );
    }
    return this.free(session, host, proto);
  }

  /** Takes a name over from a dead session of the same credential. */
  async free(session: Claimant, host: string, proto: Proto): Promise<{ readonly host: string } | ClaimRefusal> {
    // A name has one owner on both listeners; the owner may have one tunnel on each.
    const [holder] = LISTENERS.flatMap((listener) => this.#holders.get(`${listener} ${host}`) ?? []).filter(
      (tunnel) => tunnel.session.id !== session.id || keyOf(host, tunnel.proto) === keyOf(host, proto),
    );
    if (holder === undefined) return { host };
    const other = holder.session;
    if (other.credentialId !== session.credentialId) {
      return refusal(
        'ERR_POSTERN_TUNNEL_NAME_TAKEN',
        `${host} is held by an agent with another credential: use another name`,
        true,
      );
    }
    if (other.id === session.id) {
      return refusal('ERR_POSTERN_TUNNEL_NAME_TAKEN', `this agent already has a tunnel for ${host}`);
    }
    if (!other.isOnline) {
      this.#ports.endTunnel(holder, `${host} was taken over by another agent`);
      // It may wait for the store, and nothing reaches the tunnel meanwhile.
      this.release(host, holder);
    } else if (!other.isSentAway && (await other.isAlive(HOLDER_ANSWERS_WITHIN_MS))) {
      return refusal(
        'ERR_POSTERN_TUNNEL_NAME_TAKEN',
        `${host} is held by another agent with this credential (session ${other.id}): stop that one first, or use another name`,
        true,
      );
    } else this.#ports.endSession(other, 'another agent took over the name because this one no longer responded');
    // Another tunnel may have taken it while the holder was being checked.
    return this.free(session, host, proto);
  }

  #isHeld(host: string): boolean {
    return LISTENERS.some((listener) => this.#holders.has(`${listener} ${host}`));
  }
}

function refusal(code: GatewayErrorCode, message: string, retry = false): ClaimRefusal {
  return { code, message, retry };
}

function keyOf(host: string, proto: Proto | null): string {
  return `${proto === 'http' ? 'plain' : 'tls'} ${host}`;
}
