import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Config } from '../config/schema.ts';
import type { Catalog } from '../documents/catalog.ts';
import type { EdgeDrainOptions } from '../edge/drain-edge.ts';
import { createEdge, type Edge } from '../edge/edge.ts';
import type { EdgeSettings } from '../edge/edge-settings.ts';
import { type OpenServer, openEdgeListener } from '../edge/listeners/edge-listener.ts';
import { openPlainListener } from '../edge/listeners/plain-listener.ts';
import { AcmeChallenges } from '../edge/tls/acme-challenges.ts';
import { createCertificateStore } from '../edge/tls/certificate-store.ts';
import type { EndpointPublisher } from '../edge/tunnels/endpoints.ts';
import type { OnlineTunnels } from '../edge/tunnels/online-tunnels.ts';
import type { TrafficReporter } from '../events/traffic-reporter.ts';
import type { Clock } from '../lib/clock.ts';
import { CLOSE_WITHIN_MS } from '../lib/http/web-socket-direction.ts';
import { formatListenAddress, type ListenAddresses } from '../lib/net/listen-address.ts';
import type { ArrivingClients } from '../lib/net/proxy-protocol/arriving-clients.ts';
import type { DescriptorBudget } from '../lib/process/descriptor-budget.ts';
import { createKsuidSource } from '../lib/text/ksuid.ts';
import type { RequestLogger } from '../logging/request-lines.ts';
import { reservedNames } from '../modules/reserved-names.ts';
import type { NodeNews } from '../nodes/news/node-news.ts';
import type { InternalCa } from '../pki/internal-ca.ts';
import type { Replica } from '../replica/replica.ts';
import { AmbiguousPaths } from '../snapshot/ambiguous-paths.ts';
import { newProblems } from '../snapshot/problems/new-problems.ts';
import { Snapshots } from '../snapshot/snapshots.ts';
import type { Store } from '../store/store.ts';
import type { BackendTraffic } from '../telemetry/metrics/backend-traffic.ts';
import { EdgeMetrics } from '../telemetry/metrics/edge-metrics.ts';
import type { RequestHistory } from '../telemetry/requests/request-history.ts';
import type { Tracing } from '../tracing/tracing.ts';
import type { OwnAddresses } from '../upstream/own-addresses.ts';
import { upstreamGuard } from '../upstream/upstream-guard.ts';
import type { ListeningSockets, OpenSocket } from './listening-sockets.ts';
import { openModuleRuntimes } from './module-runtimes.ts';
import type { ProxiedListener } from './proxied-clients.ts';
import { StartGate } from './start-gate.ts';

export interface EdgeDependencies {
  readonly config: Config;
  readonly store: Store;
  readonly replica: Replica;
  readonly news: NodeNews | null;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly requestLogger: RequestLogger;
  readonly registry: Registry;
  /** Our own addresses, which an upstream may not use: a request must not come back in. */
  readonly own: OwnAddresses;
  readonly internalCa: () => Promise<InternalCa>;
  readonly traffic: TrafficReporter;
  readonly backendTraffic: BackendTraffic;
  readonly history: RequestHistory;
  readonly tracing: Tracing | null;
  readonly descriptors: DescriptorBudget;
  readonly clientsOf: (listener: ProxiedListener) => ArrivingClients;
  /** Tunnels of agents, from this process's gateway. */
  readonly tunnels: OnlineTunnels;
  /** Whether this node may serve names of agents now. */
  readonly mayServeNames: () => boolean;
  readonly sockets: ListeningSockets;
}

export interface OpenedEdge {
  readonly https: ListenAddresses;
  readonly http: ListenAddresses;
  readonly snapshots: Snapshots;
  /** Endpoints of agents. */
  readonly endpoints: EndpointPublisher;
  /** The ports of tcp tunnels. */
  tunnelSockets(): readonly OpenSocket[];
  /** Serves visitors from now on, first those who are waiting. */
  admit(): void;
  drain(timeoutMs: number, options?: EdgeDrainOptions): Promise<void>;
  readonly isPassthrough: Edge['isPassthrough'];
}

const SECOND = 1000;
const UPSTREAM_KEEP_ALIVE_MS = 60_000;

/** Assembles the data plane from the replica. */
export async function openEdge(deps: EdgeDependencies): Promise<OpenedEdge> {
  const { config, replica, catalog, clock, logger, requestLogger } = deps;
  const isAddressAllowed = upstreamGuard(config.upstream_allow_cidrs, deps.own);
  let compiled: Snapshots | null = null;
  const runtimes = await openModuleRuntimes({
    ...deps,
    isAddressAllowed,
    recompile: (kind, id) => compiled?.recompile(kind, id),
  });
  const { modules, kindOfId } = catalog;
  const ksuid = createKsuidSource();
  const newConnectionId = (): string => `cn_${ksuid(clock.nowMs())}`;
  const ambiguousPaths = new AmbiguousPaths(config.ambiguous_paths, config.ambiguous_paths_pass_hosts);
  const { moduleSettings } = config;
  const definitions = { modules, kindOfId, runtimes: runtimes.byModule, moduleSettings, ambiguousPaths };
  const snapshots = await Snapshots.open(replica, definitions);
  compiled = snapshots;
  const ca = await deps.internalCa();
  const certificates = createCertificateStore({
    records: replica,
    ca,
    clock,
    onProblem: (host, err) => logger.error({ host, err }, 'failed to issue a certificate'),
  });
  const challenges = new AcmeChallenges({ records: replica, clock });
  const edge = createEdge({
    snapshots,
    certificates,
    challenges,
    settings: edgeSettings(config),
    // One server alone keeps its keys in memory: who reads the database later can decrypt no recorded session.
    ticketSecret:
      deps.store.engine === 'sqlite' ? undefined : (text) => Buffer.from(deps.store.mac('tls-ticket', text), 'hex'),
    reserved: reservedNames(modules),
    clock,
    log: logger,
    accessLog: config.access_log ? (line) => requestLogger.info(line, 'traffic') : null,
    traffic: deps.traffic,
    backendTraffic: deps.backendTraffic,
    history: deps.history,
    tracing: deps.tracing,
    createMetrics: (live) => new EdgeMetrics(deps.registry, live, config.metrics_level),
    isUpstreamAllowed: isAddressAllowed,
    hasRoomForUpstream: () => deps.descriptors.admits('upstream'),
    tunnels: {
      online: deps.tunnels,
      mayServe: deps.mayServeNames,
      inheritedPort: (port) => deps.sockets.takePort(port),
      onConnectionClosed: (facts) => {
        if (deps.traffic.wantsConnections()) deps.traffic.connectionClosed(newConnectionId(), facts);
      },
      endpoints: {
        modules,
        moduleSettings,
        agentNetwork: runtimes.network,
        tcpPorts: config.tcp_ports,
        domain: config.domain,
      },
    },
    tcpClients: deps.clientsOf('tcp'),
    publicPorts: () => ({ https: https.addresses[0].port, http: http.addresses[0].port }),
  });
  snapshots.onSwap((edgeId, now, before) => {
    runtimes.edgeChanged(edgeId);
    for (const problem of newProblems(now, before))
      logger.warn({ edge: edgeId, ...problem }, 'a route rejects all traffic');
  });
  deps.own.setTunnelPorts(edge.tunnelPorts);
  const onProblem = (err: Error): void => logger.error({ err }, 'failed to accept a connection');
  const gate = new StartGate();
  const https = await openEdgeListener({
    open: openersOf(deps, 'edge_listen'),
    clients: deps.clientsOf('edge'),
    onSocket: (socket, client) => gate.pass(socket, () => edge.accept(socket, client)),
    onProblem,
  });
  const http = await openPlainListener({
    open: openersOf(deps, 'edge_http_listen'),
    clients: deps.clientsOf('edge_http'),
    onSocket: (socket, client) => gate.pass(socket, () => edge.acceptPlain(socket, client)),
    maxConnectionsPerAddress: config.edge_connections_per_address,
    onProblem,
  }).catch(async (error: unknown) => {
    await https.drain(0);
    await runtimes.close();
    throw error;
  });
  return {
    https: https.addresses,
    http: http.addresses,
    snapshots,
    endpoints: edge.endpoints,
    tunnelSockets: () =>
      edge.tunnelPorts.list().map(({ port, server }) => {
        const address = { host: edge.tunnelPorts.host, port };
        return { name: 'tcp', wanted: formatListenAddress(address), address, server };
      }),
    admit: () => gate.open(),
    isPassthrough: (host) => edge.isPassthrough(host),
    drain: async (timeoutMs, how) => {
      gate.close();
      // The listeners stop first, then the edge closes its connections, and the listeners see the last of them close.
      const closedMs = timeoutMs + CLOSE_WITHIN_MS + SECOND;
      const closed = [https, http].map((listener) => listener.drain(closedMs, how?.lingerMs));
      await edge.drain(timeoutMs, how);
      await Promise.all(closed);
      snapshots.close();
      certificates.close();
      challenges.close();
      await runtimes.close();
    },
  };
}

function openersOf(
  { config, sockets }: EdgeDependencies,
  setting: 'edge_listen' | 'edge_http_listen',
): readonly OpenServer[] {
  const all = config[setting];
  return all.map((address) => (server) => sockets.open(server, setting, address, all));
}

export function edgeSettings(config: Config): EdgeSettings {
  return {
    http: {
      maxHeaderBytes: config.edge_header_bytes,
      maxHeaderCount: config.edge_header_count,
      headersTimeoutMs: config.edge_header_timeout * SECOND,
      requestTimeoutMs: config.edge_request_timeout * SECOND,
      keepAliveTimeoutMs: config.edge_idle_timeout * SECOND,
      sendTimeoutMs: config.edge_send_timeout * SECOND,
      maxConcurrentStreams: config.edge_streams,
    },
    admission: {
      maxRequests: config.edge_requests_in_flight,
      maxStreams: config.edge_streams_in_flight,
      addressSharePercent: config.edge_address_share,
      minBodyBytesPerSecond: config.edge_scarce_body_rate,
    },
    tls: { maxConnectionsPerAddress: config.edge_connections_per_address },
    strictTransportSecurity: {
      maxAgeSeconds: config.hsts_max_age,
      includesSubdomains: config.hsts_include_subdomains,
      isPreloaded: config.hsts_preload,
    },
    upstream: {
      connectTimeoutMs: config.upstream_connect_timeout * SECOND,
      responseTimeoutMs: config.upstream_response_timeout * SECOND,
      idleTimeoutMs: config.upstream_idle_timeout * SECOND,
      keepAliveMs: UPSTREAM_KEEP_ALIVE_MS,
      maxIdleConnections: 256,
      maxHeaderBytes: 131_072,
      maxHeaderCount: 500,
    },
    forwarding: { addsForwarded: config.forwarded_header },
    recording: { headers: config.request_history_headers, keepsQuery: config.request_history_query },
    marksForwarded: config.request_id_header,
    trustedProxies: config.trusted_proxies,
    droppedHeaders: config.drop_request_headers,
    hostPorts: config.edge_host_ports,
  };
}
