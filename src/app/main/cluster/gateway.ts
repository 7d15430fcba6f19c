import { createServer as createTcpServer, type Socket } from 'node:net';
import type { Logger } from 'pino';
import { Gauge, type Registry } from 'prom-client';
import { othersWrites } from '../../../control/api/others-writes.ts';
import { identityAddress } from '../../../control/identity/contracts.ts';
import { credentialDirectory } from '../../../control/resources/credentials/credentials.ts';
import type { Clock } from '../../../kit/clock.ts';
import { ignoreErrors, listenPer } from '../../../kit/guarded-listeners.ts';
import type { ArrivingClients } from '../../../kit/net/arriving-clients.ts';
import type { ListenAddress } from '../../../kit/net/listen-address.ts';
import { createKsuidSource } from '../../../kit/text/ksuid.ts';
import { entryRules } from '../../../proxy/edge/tunnels/endpoint-publisher.ts';
import type { EndpointPublisher } from '../../../proxy/edge/tunnels/endpoints.ts';
import { type OnlineTunnels, tunnelFigures } from '../../../proxy/edge/tunnels/online-tunnels.ts';
import type { InternalCa } from '../../../proxy/pki/internal-ca.ts';
import { openTunnelTls, shareTunnelNames, type TlsSource } from '../../../proxy/pki/tls-source.ts';
import type { AllFigures } from '../../../proxy/telemetry/live/installation-tunnels.ts';
import { HopTracing } from '../../../proxy/tracing/request-trace.ts';
import type { SpanSink } from '../../../proxy/tracing/span-queue.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import type { Store } from '../../../store/store.ts';
import { AgentHandshakes, ownerOf } from '../../../tunnel/gateway/agent-handshakes.ts';
import { Gateway } from '../../../tunnel/gateway/gateway.ts';
import type { OnlineTunnelTable } from '../../../tunnel/gateway/online-tunnel-table.ts';
import type { ClusterPorts, GatewayEvents, Invitations } from '../../../tunnel/gateway/ports.ts';
import type { Announcer } from '../../../tunnel/nodes/directory/announced.ts';
import type { TunnelDirectory } from '../../../tunnel/nodes/directory/tunnel-directory.ts';
import { HopWebSockets, receiveChannelHops, receiveHops } from '../../../tunnel/nodes/hop/receive-hops.ts';
import type { NodeLinks } from '../../../tunnel/nodes/links/node-links.ts';
import type { Membership } from '../../../tunnel/nodes/membership/membership.ts';
import type { NodeNews } from '../../../tunnel/nodes/news/node-news.ts';
import type { Config } from '../../settings/schema.ts';
import type { MovingAgents } from '../handover/hand-over.ts';
import { listenOn } from '../sockets/listener.ts';
import type { ListeningSockets } from '../sockets/listening-sockets.ts';
import type { WorkerAgents } from '../workers/worker-agents.ts';
import type { AgentTls } from '../workers/worker-protocol.ts';

interface GatewayDependencies {
  readonly config: Config;
  readonly store: Store;
  readonly replica: Replica;
  readonly news: NodeNews | null;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly internalCa: () => Promise<InternalCa>;
  readonly endpoints: EndpointPublisher;
  readonly table: OnlineTunnelTable;
  readonly events: GatewayEvents;
  readonly invitations: Invitations;
  readonly clients: ArrivingClients;
  readonly sockets: ListeningSockets;
  readonly membership: Membership;
  /** The other nodes. Absent: there are none. */
  readonly cluster?: ClusterPorts | undefined;
  readonly announcer?: Announcer | undefined;
  /** Threads that have the connections of agents. Null: this one has them. */
  readonly workers: WorkerAgents | null;
  /** Resolves when no other process works on an SQLite store. */
  readonly owned: Promise<void>;
}

export interface OpenedGateway {
  readonly address: ListenAddress;
  readonly gateway: Gateway;
  /** How many of these tunnels are not online here. */
  missing(tunnels: readonly string[]): number;
  /** For another process that takes over. */
  readonly agents: MovingAgents;
  /** Sessions that no other node has taken over yet. */
  unmoved(): number;
  /** Uses certificate files that changed. */
  refreshTls(): Promise<void>;
  drain(timeoutMs: number, onTimeout?: () => Promise<void>): Promise<void>;
}

/** The listener for agents. */
export async function openGateway(deps: GatewayDependencies): Promise<OpenedGateway> {
  const { config, store, replica, clock, logger, registry, endpoints, table } = deps;
  const bootId = deps.membership.self.id;
  const ksuid = createKsuidSource();
  const newId = (prefix: string): string => `${prefix}_${ksuid(clock.nowMs())}`;
  // With PostgreSQL other processes may be running; leases of a dead one expire.
  if (store.engine === 'sqlite') {
    const removed = deps.owned.then(() => store.presence.removeOtherBoots(bootId));
    // A full disk keeps no server from starting: they expire.
    const written = removed.catch((err: unknown) => logger.error({ err }, 'failed to remove old leases'));
    if (!store.sharing.isShared) await written;
  }
  const gateway = new Gateway({
    clock,
    presence: store.presence,
    bootId,
    region: config.region,
    entryRules,
    domain: config.domain,
    identityHostname: identityAddress(config.identity_host)?.hostname ?? null,
    invitations: deps.invitations,
    credentials: credentialDirectory(replica, othersWrites(store, replica, deps.news)),
    table,
    endpoints,
    log: logger,
    newId,
    events: deps.events,
    cluster: deps.cluster,
    announcer: deps.announcer,
    workers: deps.workers ?? undefined,
  });
  addMetrics(registry, gateway);
  const tlsProblem = (err: unknown): void => logger.error({ err }, 'failed to renew the certificate of the gateway');
  const tls = await openTunnelTls({
    config,
    clock,
    internalCa: deps.internalCa,
    records: replica,
    onProblem: tlsProblem,
    ...(store.engine === 'postgres' && {
      shareNames: (own) => shareTunnelNames(own, { store, replica, clock, onProblem: tlsProblem }),
    }),
  });
  const { workers } = deps;
  const pair = (): AgentTls => ({ ...tls.current, managedNames: tls.managedNames });
  const accept =
    workers === null
      ? acceptInThisThread(deps, tls, gateway)
      : (socket: Socket) => workers.accept(ignoreErrors(socket));
  if (workers !== null) {
    await workers.open(gateway, pair());
    tls.onChange(() => workers.useTls(pair()));
  }
  // A socket from which nothing was read can be handed to a worker.
  const listener = createTcpServer({ pauseOnConnect: workers !== null });
  listenPer(listener, 'connection', ownerOf, accept);
  const address = await deps.sockets.open(listener, 'tunnel_listen', config.tunnel_listen);
  return {
    address,
    gateway,
    missing: (tunnels) => missingFrom(gateway.onlineTunnels(), tunnels),
    agents: {
      sendAway: () => {
        listener.close();
        return gateway.sendAway();
      },
      remaining: () => table.size,
      takeBack: async () => {
        gateway.takeBack();
        await listenOn(listener, 'tunnel_listen', address);
      },
    },
    unmoved: () => gateway.unmoved,
    refreshTls: () => tls.refresh(),
    drain: async (timeoutMs, onTimeout) => {
      listener.close();
      deps.clients.close();
      await gateway.drain(timeoutMs, onTimeout);
      tls.close();
    },
  };
}

function acceptInThisThread({ clients, logger }: GatewayDependencies, tls: TlsSource, gateway: Gateway) {
  const handshakes = new AgentHandshakes({
    ...{ clients, tls: tls.current, threads: 1, log: logger },
    contextFor: (name) => tls.contextFor(name),
    onAgent: (socket, address) => gateway.accept(socket, address),
  });
  tls.onChange((pair) => handshakes.use(pair));
  return (socket: Socket): void => handshakes.accept(socket);
}

/** Several tunnels may have the same labels. */
function missingFrom(online: readonly string[], wanted: readonly string[]): number {
  const left = [...online];
  return wanted.filter((tunnel) => {
    const at = left.indexOf(tunnel);
    if (at !== -1) left.splice(at, 1);
    return at === -1;
  }).length;
}

function addMetrics(registry: Registry, gateway: Gateway): void {
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  };
  gauge('postern_gateway_connections', 'Open connections from agents.', () => gateway.counts.connections);
  gauge(
    'postern_gateway_sessions',
    'Tunnel sessions, including disconnected ones that can still resume.',
    () => gateway.counts.sessions,
  );
  gauge('postern_gateway_tunnels', 'Online tunnels.', () => gateway.counts.tunnels);
}

/** Latency and traffic of tunnels at this node, with agents connected here or elsewhere. */
export function ownTunnels(
  table: Pick<OnlineTunnelTable, 'all' | 'get'>,
  directory: Pick<TunnelDirectory, 'remoteTunnels' | 'remoteTunnel'>,
  gateway: () => OpenedGateway | null,
): () => AllFigures {
  const elsewhere = { all: () => directory.remoteTunnels(), get: (id: string) => directory.remoteTunnel(id) };
  return () => ({
    tunnels: tunnelFigures(table, elsewhere),
    agents: gateway()?.gateway.agentFigures() ?? [],
  });
}

interface HopDependencies {
  /** Null: this server is alone. */
  readonly links: Pick<NodeLinks, 'serveStreams'> | null;
  readonly tunnels: OnlineTunnels;
  readonly tracing: SpanSink | null;
  readonly clock: Clock;
}

/** Serves requests of other nodes for agents of this one. Returns the WebSockets among them. */
export function serveHops({ links, tunnels, tracing, clock }: HopDependencies): HopWebSockets {
  const traced = tracing === null ? null : new HopTracing(tracing, () => clock.nowMs());
  const webSockets = new HopWebSockets();
  links?.serveStreams(receiveHops(tunnels, webSockets, { tracing: traced }), receiveChannelHops(tunnels, traced));
  return webSockets;
}
