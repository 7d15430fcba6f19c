import { randomBytes, randomInt } from 'node:crypto';
import { hostNameProblem, isHostOrBelow } from '../../kit/net/host-name.ts';
import type { Bind } from '../protocol/messages.ts';
import type { AgentSession, BoundTunnel } from './agent-session.ts';
import type { GatewayErrorCode } from './errors.ts';

const ADJECTIVES =
  'amber,brisk,calm,clear,cosy,crisp,dapper,early,fair,fleet,gentle,glad,golden,hardy,jolly,keen,kind,light,lively,lucky,mellow,merry,neat,nimble,noble,plain,proud,quick,quiet,rapid,ruddy,silver,sleek,snug,sober,steady,sunny,swift,tidy,vivid,warm,witty'.split(
    ',',
  );
const NOUNS =
  'acorn,badger,beacon,birch,brook,cedar,cliff,cloud,comet,coral,cove,crane,dune,ember,falcon,fern,finch,fjord,flint,gate,glade,harbor,hazel,heron,island,jetty,lantern,larch,linden,maple,meadow,moss,oak,otter,pebble,pine,quay,raven,reef,ridge,river,robin,sparrow,spruce,stone,tern,thistle,tower,valley,willow,wren'.split(
    ',',
  );
/** Without letters that are easily confused. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const RANDOM_CHARACTERS = 10;

/** A name that is easy to read aloud and hard to guess: the last part alone has 49 random bits. */
function ephemeralName(): string {
  const bytes = randomBytes(RANDOM_CHARACTERS * 2);
  let random = '';
  for (const byte of bytes) {
    // Bytes beyond the last whole multiple would make some letters more likely than others.
    if (byte < 256 - (256 % ALPHABET.length) && random.length < RANDOM_CHARACTERS)
      random += ALPHABET[byte % ALPHABET.length];
  }
  if (random.length < RANDOM_CHARACTERS) return ephemeralName();
  return `${ADJECTIVES[randomInt(ADJECTIVES.length)]}-${NOUNS[randomInt(NOUNS.length)]}-${random}`;
}

export const HOLDER_ANSWERS_WITHIN_MS = 2_000;

/** A session that wants a name, on this node or on another one. */
export type Claimant = Pick<AgentSession, 'id' | 'credentialId'>;

interface TunnelNamesPorts {
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
export class HeldNames {
  readonly #holders = new Map<string, BoundTunnel>();

  /** Names equal to this host, or one label below it when it is a wildcard. */
  under(host: string): readonly string[] {
    if (!host.startsWith('*.')) return this.has(host) ? [host] : [];
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

  /** On either listener. */
  has(host: string): boolean {
    return this.holdersOf(host).length > 0;
  }

  /** A name has one owner on both listeners; the owner may have one tunnel on each. */
  holdersOf(host: string): readonly BoundTunnel[] {
    return LISTENERS.flatMap((listener) => this.#holders.get(`${listener} ${host}`) ?? []);
  }
}

/** Chooses hosts for tunnels, and takes them over from sessions whose agent is gone. */
export class TunnelNames {
  readonly #held: HeldNames;
  readonly #ports: TunnelNamesPorts;

  constructor(held: HeldNames, ports: TunnelNamesPorts) {
    this.#held = held;
    this.#ports = ports;
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
      if (!this.#held.has(host)) return { host };
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
    const [holder] = this.#held
      .holdersOf(host)
      .filter((tunnel) => tunnel.session.id !== session.id || keyOf(host, tunnel.proto) === keyOf(host, proto));
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
      // The release may wait for the store, and nothing reaches the tunnel meanwhile.
      this.#held.release(host, holder);
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
}

function refusal(code: GatewayErrorCode, message: string, retry = false): ClaimRefusal {
  return { code, message, retry };
}

function keyOf(host: string, proto: Proto | null): string {
  return `${proto === 'http' ? 'plain' : 'tls'} ${host}`;
}

/** Refusal with a message for the agent's user. */
export interface ClaimRefusal {
  readonly code: GatewayErrorCode;
  readonly message: string;
  readonly retry: boolean;
}

/** `again`: a session of this node took it in the meantime. */
export type ClaimResult = 'claimed' | 'again' | ClaimRefusal;

/**
 * Names and ports that sessions own in the whole installation. Rules among sessions of one node are in `TunnelNames`.
 */
export interface Claims {
  /** `what` names the key in a refusal. `isChosen`: any other would do, so that nobody has to give it up. */
  claim(session: AgentSession, key: string, what: string, isChosen?: boolean): Promise<ClaimResult>;
  /** Others may have the keys once `unserved` has resolved: no node serves them for this session. */
  release(session: AgentSession, keys: readonly string[], unserved: Promise<void>): void;
  /** Resolves when releases of this key that have begun are finished. */
  settled(key: string): Promise<void>;
}

/** On a server without other nodes nobody else can claim. */
export const OWN_CLAIMS: Claims = {
  claim: () => Promise.resolve('claimed'),
  release: () => {},
  settled: () => Promise.resolve(),
};

/** Sessions as another node needs them to resume one. */
export interface SessionRecords {
  /** Rejects when it could not be stored. */
  create(session: AgentSession): Promise<void>;
  /** Stored soon; a failure is retried. */
  changed(session: AgentSession): void;
  /** After `unserved`, with all its claims. */
  remove(session: AgentSession, unserved: Promise<void>): void;
}

export const NO_RECORDS: SessionRecords = { create: () => Promise.resolve(), changed: () => {}, remove: () => {} };

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

  /**
   * Takes a port over from a dead session of the same credential. Null: nobody of this node has it, or has it any
   * longer.
   */
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

const BIND = 'bind:';
const CONFIGURE = 'configure:';

/**
 * The tunnels that a credential lets its agents open, and the modules it lets them configure. The two are independent:
 * without a `bind:` rule agents may open anything, without a `configure:` rule they may configure every module, and a
 * rule of one kind does not affect the other.
 */
export class Acl {
  readonly #binds: ReadonlySet<string>;
  readonly #modules: ReadonlySet<string>;

  constructor(rules: readonly string[]) {
    this.#modules = new Set(
      rules.filter((rule) => rule.startsWith(CONFIGURE)).map((rule) => rule.slice(CONFIGURE.length)),
    );
    // A rule of a kind that this version does not know restricts what may be opened: it allows nothing.
    this.#binds = new Set(
      rules.filter((rule) => !rule.startsWith(CONFIGURE)).map((rule) => rule.replace(new RegExp(`^${BIND}`), '')),
    );
  }

  allowsHost(host: string): boolean {
    if (this.#bindsAnything()) return true;
    // As for edges: a wildcard covers one label.
    return this.#binds.has(host) || this.#binds.has(`*${host.slice(host.indexOf('.'))}`);
  }

  /** By exact name, not by a wildcard or by the absence of rules: only this opens a host that an edge covers. */
  namesExactly(host: string): boolean {
    return this.#binds.has(host);
  }

  allowsLabels(labels: Readonly<Record<string, string>>): boolean {
    return this.#bindsAnything() || Object.entries(labels).every(([key, value]) => this.#binds.has(`${key}=${value}`));
  }

  /** Ports have no name that a rule could allow: they require unrestricted permission. */
  allowsPorts(): boolean {
    return this.#bindsAnything();
  }

  /** The modules of a tunnel that agents with this credential may not configure. */
  forbiddenModules(modules: Readonly<Record<string, unknown>>): readonly string[] {
    if (this.#modules.size === 0 || this.#modules.has('*')) return [];
    return Object.keys(modules).filter((name) => modules[name] !== undefined && !this.#modules.has(name));
  }

  #bindsAnything(): boolean {
    return this.#binds.size === 0 || this.#binds.has('*');
  }
}
