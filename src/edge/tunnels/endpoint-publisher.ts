import { TUNNEL_BACKEND_KIND } from '../../backends/backend.ts';
import { withParts } from '../../lib/load-part.ts';
import { formatListenAddress, isWildcardHost, type PortRange } from '../../lib/net/listen-address.ts';
import { isPass, type TrafficRequest } from '../../modules/contract/decides.ts';
import type { CheckContext, Module } from '../../modules/contract/module.ts';
import type { ModuleSettings } from '../../modules/module-settings.ts';
import type { EdgeSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { Snapshots } from '../../snapshot/snapshots.ts';
import { decodeModules, ModuleRefusal, type Proto } from './endpoint-modules.ts';
import type { EndpointPublisher, NewEndpoint, Publication } from './endpoints.ts';
import type { RawConnections, RawEndpoint } from './raw-connections.ts';
import type { NoPort, TcpPorts } from './tcp-ports.ts';

/** Settings of endpoints beside traffic. */
export interface EndpointSettings {
  /** All registered modules: an endpoint's modules are prepared by the same ones. */
  readonly modules: readonly Module[];
  readonly moduleSettings: ModuleSettings;
  /** Limits of the issuers that agents name. */
  readonly agentNetwork?: CheckContext['agentNetwork'];
  readonly tcpPorts: PortRange;
  /** Name of this server, where the listener's address cannot be dialled. */
  readonly domain: string;
}

/** Ports of the listeners as clients see them. Called once these are open. */
export type PublicPorts = () => { readonly https: number; readonly http: number };

export interface EndpointPublisherOptions {
  readonly settings: EndpointSettings;
  readonly publicPorts: PublicPorts;
  readonly snapshots: Snapshots;
  readonly ports: TcpPorts;
  readonly connections: RawConnections;
}

const HTTPS_PORT = 443;
const HTTP_PORT = 80;

/**
 * Endpoints of agents, from `publish` to `withdraw`. http and https become edges without records; tls become hosts
 * whose connections are forwarded undecrypted; tcp become listeners.
 */
export class Endpoints implements EndpointPublisher {
  readonly #options: EndpointPublisherOptions;
  readonly #tlsHosts = new Map<string, RawEndpoint>();
  /** The function that withdraws each endpoint. */
  readonly #published = new Map<string, () => void>();

  constructor(options: EndpointPublisherOptions) {
    this.#options = options;
  }

  isCoveredByEdge(host: string): boolean {
    return this.#options.snapshots.findEdge(host) !== undefined;
  }

  /** The tls tunnel of the host, unless an edge has that exact name. */
  tlsEndpoint(host: string): RawEndpoint | undefined {
    const found = this.#tlsHosts.get(host);
    if (found === undefined) return undefined;
    return this.#options.snapshots.findEdge(host)?.isExact === true ? undefined : found;
  }

  publish(endpoint: NewEndpoint): Promise<Publication> {
    return withParts(() => this.#publish(endpoint));
  }

  async #publish(endpoint: NewEndpoint): Promise<Publication> {
    try {
      if (this.#published.has(endpoint.id)) throw new Error(`${endpoint.id} is published already`);
      if (endpoint.proto === 'tcp') return await this.#publishTcp(endpoint, this.#compile(endpoint));
      const { host } = endpoint;
      if (host === null) return refused('ERR_POSTERN_TUNNEL_INVALID', `a tunnel of ${endpoint.proto} needs a host`);
      if (this.#isTaken(host, endpoint.proto)) {
        return refused(
          'ERR_POSTERN_TUNNEL_NAME_TAKEN',
          `${host} belongs to an edge or another tunnel: use another name`,
        );
      }
      return this.#publishHost(endpoint, host, this.#compile(endpoint));
    } catch (error) {
      if (error instanceof ModuleRefusal) return refused('ERR_POSTERN_TUNNEL_INVALID', error.message);
      throw error;
    }
  }

  withdraw(endpointId: string): void {
    const take = this.#published.get(endpointId);
    this.#published.delete(endpointId);
    take?.();
  }

  withdrawAll(): void {
    for (const id of [...this.#published.keys()]) this.withdraw(id);
  }

  /** By an edge with this exact name, or by a tunnel on the same listener. */
  #isTaken(host: string, proto: Proto): boolean {
    const { snapshots } = this.#options;
    if (snapshots.findEdge(host)?.isExact === true) return true;
    if (proto === 'http') return snapshots.findPlain(host) !== undefined;
    const ofAgent = snapshots.find(host);
    return this.#tlsHosts.has(host) || (ofAgent !== undefined && this.#published.has(ofAgent.id));
  }

  #publishHost(endpoint: NewEndpoint, host: string, edge: EdgeSnapshot): Publication {
    const { snapshots, publicPorts } = this.#options;
    const { proto } = endpoint;
    const { https, http } = publicPorts();
    const hostport = `${host}:${proto === 'http' ? http : https}`;
    if (proto === 'tls') {
      this.#tlsHosts.set(host, this.#rawEndpoint(endpoint, 'tls', edge));
      this.#published.set(endpoint.id, () => {
        this.#tlsHosts.delete(host);
        this.#options.connections.cutAll(endpoint.id, 'withdrawn');
      });
      snapshots.takenFromWildcard(host);
      return { ok: true, publicUrl: `tls://${hostport}`, hostport };
    }
    this.#published.set(endpoint.id, () => snapshots.removeEphemeral(endpoint.id));
    snapshots.addEphemeral(edge);
    const isUsual = proto === 'http' ? http === HTTP_PORT : https === HTTPS_PORT;
    return { ok: true, publicUrl: `${proto}://${isUsual ? host : hostport}`, hostport };
  }

  async #publishTcp(endpoint: NewEndpoint, edge: EdgeSnapshot): Promise<Publication> {
    const { ports, connections, settings } = this.#options;
    const raw = this.#rawEndpoint(endpoint, 'tcp', edge);
    const opened = await ports.open(endpoint.port, (socket, client) => connections.carry(raw, socket, client));
    if (typeof opened === 'string') return this.#noPort(opened, endpoint.port);
    this.#published.set(endpoint.id, () => {
      opened.close();
      connections.cutAll(endpoint.id, 'withdrawn');
    });
    const { host } = settings.tcpPorts;
    const hostport = formatListenAddress({ host: isWildcardHost(host) ? settings.domain : host, port: opened.port });
    return { ok: true, publicUrl: `tcp://${hostport}`, hostport };
  }

  #noPort(why: NoPort, port: number | null): Publication {
    const { first, last } = this.#options.settings.tcpPorts;
    const ours = `${first} to ${last} (setting tcp_ports)`;
    const code = 'ERR_POSTERN_TUNNEL_PORT';
    if (why === 'range')
      return refused(code, `the ports for tcp tunnels on this server are ${ours}, and ${port} is not one of them`);
    if (why === 'taken')
      return refused(code, `port ${port} is in use: request another one, or none to get a free port`, true);
    if (why === 'none') return refused(code, `all ports for tcp tunnels on this server are in use: ${ours}`, true);
    const which = port === null ? `the ports for tcp tunnels, ${ours},` : `port ${port}`;
    return refused(code, `this server cannot open ${which} (${why}): check the setting tcp_ports`, true);
  }

  #compile(endpoint: NewEndpoint): EdgeSnapshot {
    const { settings, snapshots } = this.#options;
    const { id, proto, host, tunnelId } = endpoint;
    const decoded = decodeModules(id, proto, endpoint.modules, settings);
    const edge = snapshots.compileDetached({
      id,
      host: host ?? '',
      isPlain: proto === 'http',
      ...decoded,
      backend: { kind: TUNNEL_BACKEND_KIND, id: tunnelId, config: { tunnel_id: tunnelId } },
    });
    const [problem] = [...edge.problems, ...edge.routes.all.flatMap((route) => route.problems)];
    if (problem !== undefined) throw new ModuleRefusal(`${problem.module} cannot be applied: ${problem.message}`);
    return edge;
  }

  #rawEndpoint({ id: endpointId, tunnelId }: NewEndpoint, proto: 'tcp' | 'tls', edge: EdgeSnapshot): RawEndpoint {
    const judges = edge.routes.all.flatMap((route) =>
      route.modules.flatMap(({ prepared }) => (prepared.judge === undefined ? [] : [prepared])),
    );
    return {
      endpointId,
      tunnelId,
      proto,
      // The only module that these may have looks at nothing else; one that decides later has not admitted it.
      isAddressAllowed: (clientAddress) =>
        judges.every((module) => {
          const verdict = module.judge?.({ clientAddress } as TrafficRequest);
          return verdict !== undefined && isPass(verdict);
        }),
    };
  }
}

function refused(code: string, message: string, retry = false): Publication {
  return { ok: false, code, message, retry };
}
