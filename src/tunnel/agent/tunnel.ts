import type { Bind, Bound, Unbound } from '../protocol/messages.ts';
import { AgentError } from './errors.ts';
import type { AgentTunnel, TunnelSpec, TunnelStatus } from './handle.ts';
import { type LocalAddress, parseLocalAddress } from './local/local-address.ts';
import { Replicas } from './local/local-service.ts';

/** The name that a tunnel had, as far as it can be requested again. */
interface BoundName {
  readonly domain?: string;
  readonly port?: number;
}

function boundName(url: string | null, proto: string | null): BoundName {
  if (url === null || !URL.canParse(url)) return {};
  const { hostname, port } = new URL(url);
  if (proto === 'tcp') return port === '' ? {} : { port: Number(port) };
  return proto === null || hostname === '' ? {} : { domain: hostname };
}

/** Addresses in `forwardsTo`: the server accepts 2,048 characters. */
const MAX_SHOWN = 10;

/** A tunnel of this agent. It outlives sessions: it requests the same name in the next one. */
export class Tunnel implements AgentTunnel {
  readonly ref: number;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>> | null;
  readonly spec: TunnelSpec;
  /** The local service. */
  readonly replicas: Replicas;
  id: string | null = null;
  /** A field, not a getter: programs may copy the tunnel's own fields. */
  publicUrl: string | null = null;
  proto: AgentTunnel['proto'];
  status: TunnelStatus = 'binding';
  problem: string | null = null;
  problemCode: string | null = null;
  #had: BoundName = {};

  constructor(ref: number, spec: TunnelSpec) {
    this.ref = ref;
    this.spec = spec;
    this.name = spec.name ?? `tunnel-${ref + 1}`;
    this.labels = spec.labels ?? null;
    this.proto = spec.proto ?? null;
    if ((spec.proto === undefined) === (spec.labels === undefined)) {
      throw new AgentError(
        'ERR_POSTERN_AGENT_OPTIONS',
        `the tunnel "${this.name}" requires either a protocol or labels`,
      );
    }
    this.replicas = new Replicas(this.#parsed(spec.addr), spec);
  }

  get forwardsTo(): string {
    const texts = this.replicas.addresses.map(({ text }) => text);
    const shown = texts.slice(0, MAX_SHOWN).join(', ');
    return texts.length > MAX_SHOWN ? `${shown} and ${texts.length - MAX_SHOWN} more` : shown;
  }

  /** The tunnel carries raw connections, not HTTP requests. */
  get isRaw(): boolean {
    return this.proto === 'tcp' || this.proto === 'tls';
  }

  /** Whether it serves a folder, which has no raw connections. */
  get hasFolder(): boolean {
    return this.replicas.addresses.some(({ folder }) => folder !== undefined);
  }

  /** The Host that the local service sees. */
  authorityFor(publicHost: string): string {
    const { hostHeader = 'preserve' } = this.spec;
    if (hostHeader === 'preserve') return publicHost;
    return hostHeader === 'rewrite' ? (this.replicas.addresses[0]?.authority ?? publicHost) : hostHeader;
  }

  /** For a raw connection. */
  rawAddress(): LocalAddress {
    return this.replicas.next()?.address ?? (this.replicas.addresses[0] as LocalAddress);
  }

  move(addr: readonly string[]): void {
    this.replicas.move(this.#parsed(addr));
  }

  /** Closes idle connections; requests in progress finish. */
  async closeUpstream(): Promise<void> {
    await this.replicas.drain();
  }

  #parsed(addr: TunnelSpec['addr']): readonly LocalAddress[] {
    const given = typeof addr === 'string' || typeof addr === 'number' ? [addr] : [...new Set(addr)];
    if (given.length === 0) {
      throw new AgentError('ERR_POSTERN_AGENT_OPTIONS', `the tunnel "${this.name}" requires an address`);
    }
    return given.map((each) => parseLocalAddress(each, this.isRaw ? 'tcp' : 'http'));
  }

  bindMessage(): Bind {
    const { spec } = this;
    const domain = spec.domain ?? this.#had.domain;
    const port = spec.port ?? this.#had.port;
    this.status = 'binding';
    return {
      t: 'bind',
      ref: this.ref,
      ...(this.id !== null && { id: this.id }),
      ...(spec.proto !== undefined && { proto: spec.proto }),
      ...(spec.labels !== undefined && { labels: { ...spec.labels } }),
      ...(domain !== undefined && { domain }),
      ...(port !== undefined && { port }),
      metadata: spec.metadata ?? '',
      forwards_to: this.forwardsTo,
      ...(spec.modules !== undefined && { modules: spec.modules }),
    };
  }

  bound({ id, public_url: publicUrl, proto }: Bound): void {
    this.id = id;
    this.publicUrl = publicUrl ?? null;
    if (proto !== undefined) this.proto = proto;
    this.status = 'online';
    this.problem = null;
    this.problemCode = null;
    this.#had = boundName(this.publicUrl, this.spec.proto ?? null);
  }

  /** Returns the next step: bind `again` now, `wait` and retry, or accept the refusal. */
  unbound({ code, message, retry }: Unbound): 'again' | 'wait' | 'refused' {
    const { domain, port } = this.spec;
    // A generated name that another tunnel has taken since is not one that the user insists on.
    const askedForOldName =
      this.status !== 'online' && domain === undefined && port === undefined && Object.keys(this.#had).length > 0;
    this.id = null;
    this.problem = message;
    this.problemCode = code;
    if (!retry && askedForOldName) {
      this.#had = {};
      this.status = 'binding';
      return 'again';
    }
    if (!retry) {
      this.status = 'refused';
      return 'refused';
    }
    this.status = 'waiting';
    return 'wait';
  }
}
