import type { Socket } from 'node:net';
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import type { Catalog } from '../../../control/documents/catalog.ts';
import type { TrafficReporter } from '../../../control/events/event-recorder.ts';
import type { Clock } from '../../../kit/clock.ts';
import { LatePart } from '../../../kit/late-part.ts';
import type { RequestLogger } from '../../../kit/logging/logger.ts';
import { type ArrivalProblem, ArrivingClients } from '../../../kit/net/arriving-clients.ts';
import type { DescriptorBudget } from '../../../kit/process/descriptor-budget.ts';
import { Standstill } from '../../../kit/process/standstill.ts';
import { createKsuidSource } from '../../../kit/text/ksuid.ts';
import { reservedNames } from '../../../modules/reserved-names.ts';
import type { EdgeTallies } from '../../../proxy/edge/admission.ts';
import { createEdge, type Edge, type EdgeOptions } from '../../../proxy/edge/edge.ts';
import type { EdgeSettings } from '../../../proxy/edge/edge-settings.ts';
import { type EdgeListenerOptions, plainConnections } from '../../../proxy/edge/listeners/edge-listener.ts';
import { AcmeChallenges } from '../../../proxy/edge/tls/acme-challenges.ts';
import { createCertificateStore } from '../../../proxy/edge/tls/certificate-store.ts';
import type { SharedSecret } from '../../../proxy/edge/tls/host-servers.ts';
import type { PublicPorts } from '../../../proxy/edge/tunnels/endpoint-publisher.ts';
import type { OnlineTunnels } from '../../../proxy/edge/tunnels/online-tunnels.ts';
import { COUNTRIES, type KnownLists, listSource } from '../../../proxy/lists/known-lists.ts';
import type { InternalCa } from '../../../proxy/pki/internal-ca.ts';
import type { OwnHost } from '../../../proxy/snapshot/edge-snapshot.ts';
import { AmbiguousPaths } from '../../../proxy/snapshot/route-table.ts';
import { Snapshots } from '../../../proxy/snapshot/snapshots.ts';
import type { BackendTraffic } from '../../../proxy/telemetry/metrics/backend-traffic.ts';
import { EdgeMetrics } from '../../../proxy/telemetry/metrics/edge-metrics.ts';
import type { RequestHistory } from '../../../proxy/telemetry/requests/request-history.ts';
import type { Tracing } from '../../../proxy/tracing/tracing.ts';
import { type OwnAddresses, upstreamGuard } from '../../../proxy/upstream/upstream-guard.ts';
import type { FollowedReplica } from '../../../store/replica/replica.ts';
import type { Config } from '../../settings/schema.ts';
import { openModuleRuntimes, type RuntimeDependencies } from './module-runtimes.ts';

/** What the data plane needs, in the thread of the server or in one of its own. */
export interface EdgeParts extends Omit<RuntimeDependencies, 'isAddressAllowed' | 'recompile' | 'isInert'> {
  readonly config: Config;
  readonly catalog: Pick<Catalog, 'modules' | 'kindOfId'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly requestLogger: RequestLogger;
  readonly registry: Registry;
  /** Our own addresses, which an upstream may not use: a request must not come back in. */
  readonly own: OwnAddresses;
  readonly internalCa: () => Promise<Pick<InternalCa, 'mintLeaf'>>;
  /** For ticket keys that others have too; undefined: keys of its own. */
  readonly ticketSecret: SharedSecret | undefined;
  /** Absent: this thread serves alone. */
  readonly tallies?: EdgeTallies;
  readonly traffic: TrafficReporter;
  readonly backendTraffic: BackendTraffic;
  readonly history: RequestHistory;
  readonly tracing: Tracing | null;
  readonly descriptors: Pick<DescriptorBudget, 'admits' | 'free'>;
  readonly clientsOf: (listener: ProxiedListener) => ArrivingClients;
  /** Tunnels of agents, from this process's gateway. */
  readonly tunnels: OnlineTunnels;
  /** Whether this node may serve names of agents now. */
  readonly mayServeNames: () => boolean;
  /** The descriptor of a tunnel's port that the process before this one had. */
  readonly inheritedPort: (port: number) => number | null;
  readonly publicPorts: PublicPorts;
  /** The host of Postern's own OpenID provider; null: it is off. */
  readonly ownHost: OwnHost | null;
  readonly addressLists: KnownLists;
  /** Compile edges when they are asked for. */
  readonly isLazy?: true;
}

interface AssembledEdge {
  readonly edge: Edge;
  readonly snapshots: Snapshots;
  /** After it has drained. */
  close(): Promise<void>;
}

/** Assembles the data plane from the replica, without listeners. */
async function assembleEdge(parts: EdgeParts): Promise<AssembledEdge> {
  const { config, replica, catalog, clock, logger, requestLogger } = parts;
  const { own } = parts;
  const isAddressAllowed = upstreamGuard(config.upstream_allow_cidrs, own);
  const isUpstreamAllowed = backendGuard(config, own);
  const compiled = new LatePart<Snapshots>('the snapshots');
  const runtimes = await openModuleRuntimes({
    ...parts,
    isAddressAllowed,
    recompile: (kind, id) => compiled.ifOpen?.recompile(kind, id),
  });
  const { modules, kindOfId } = catalog;
  const ksuid = createKsuidSource();
  const newConnectionId = (): string => `cn_${ksuid(clock.nowMs())}`;
  const ambiguousPaths = new AmbiguousPaths(config.ambiguous_paths, config.ambiguous_paths_pass_hosts);
  const { moduleSettings } = config;
  const { addressLists } = parts;
  const runtimesOf = { runtimes: runtimes.byModule, moduleSettings, addressLists };
  const definitions = { modules, kindOfId, ...runtimesOf, ambiguousPaths };
  const snapshots = await (parts.isLazy === true
    ? Snapshots.lazy(replica, definitions)
    : Snapshots.open(replica, definitions));
  compiled.open(snapshots);
  const unfollowLists = followLists(addressLists, replica, snapshots);
  if (parts.ownHost !== null) snapshots.serveOwnHost(parts.ownHost);
  const ca = await parts.internalCa();
  const certificates = createCertificateStore({
    records: replica,
    ca,
    clock,
    onProblem: (host, err) => logger.error({ host, err }, 'failed to issue a certificate'),
  });
  const challenges = new AcmeChallenges({ records: replica, clock });
  const standstill = new Standstill(async () => {
    await Promise.all([parts.others.catchUp(), runtimes.catchUp()]);
    await snapshots.settled();
  });
  const edge = createEdge({
    // One server alone changes everything itself.
    ...(config.database_url !== null && { behind: (nowMs: number) => standstill.look(nowMs) }),
    snapshots,
    certificates,
    challenges,
    settings: edgeSettings(config),
    ticketSecret: parts.ticketSecret,
    tallies: parts.tallies,
    reserved: reservedNames(modules),
    clock,
    log: logger,
    accessLog: config.access_log ? accessLog(requestLogger) : null,
    traffic: parts.traffic,
    backendTraffic: parts.backendTraffic,
    history: parts.history,
    tracing: parts.tracing,
    createMetrics: (live) => new EdgeMetrics(parts.registry, live, config.metrics_level),
    isUpstreamAllowed,
    descriptors: parts.descriptors,
    tunnels: {
      online: parts.tunnels,
      mayServe: parts.mayServeNames,
      inheritedPort: parts.inheritedPort,
      onConnectionClosed: (facts) => {
        if (parts.traffic.wantsConnections()) parts.traffic.connectionClosed(newConnectionId(), facts);
      },
      endpoints: {
        modules,
        moduleSettings,
        agentNetwork: runtimes.network,
        tcpPorts: config.tcp_ports,
        domain: config.domain,
      },
    },
    tcpClients: parts.clientsOf('tcp'),
    publicPorts: parts.publicPorts,
  });
  snapshots.onSwap((edgeId, now) => runtimes.edgeChanged(edgeId, now));
  return {
    edge,
    snapshots,
    close: async () => {
      unfollowLists();
      snapshots.close();
      certificates.close();
      challenges.close();
      await runtimes.close();
    },
  };
}

/** The lines for programs have ids only. */
function accessLog(logger: RequestLogger): NonNullable<EdgeOptions['accessLog']> {
  if (logger.isForTerminal !== true) return (line) => logger.info(line, 'traffic');
  return (line, who) => logger.info(who === undefined ? line : { ...line, person: who.email || who.name }, 'traffic');
}

/** For backends alone: a login or a webhook has no reason to call the API. */
export function backendGuard(
  config: Pick<Config, 'api_behind_edge' | 'upstream_allow_cidrs'>,
  own: OwnAddresses,
): (ip: string, port: number) => boolean {
  const has = config.api_behind_edge
    ? (ip: string, port: number) => own.hasBesidesApi(ip, port)
    : (ip: string, port: number) => own.has(ip, port);
  return upstreamGuard(config.upstream_allow_cidrs, { has });
}

export const LIST_KIND = 'ip_policy_list';

/** Compiles the edges again whose lists have other addresses, which also judges their streams again. */
export function followLists(
  known: KnownLists,
  replica: Pick<FollowedReplica, 'all'>,
  snapshots: Pick<Snapshots, 'recompile'>,
): () => void {
  return known.onNews(({ id }) => {
    if (id !== COUNTRIES) return snapshots.recompile(LIST_KIND, id);
    for (const record of [...replica.all(LIST_KIND)])
      if (listSource(record.doc) === COUNTRIES) snapshots.recompile(LIST_KIND, record.id);
  });
}

/** Header in which the page of the console sends its token. */
const TOKEN_HEADER = 'postern-console-token';
const SECOND = 1000;
const UPSTREAM_KEEP_ALIVE_MS = 60_000;

/** The part of the settings that the data plane uses, in its own terms. */
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
    folders: { roots: config.file_roots, forbidden: [resolve(config.data_dir)] },
    forwarding: { addsForwarded: config.forwarded_header },
    recording: { headers: config.request_history_headers, keepsQuery: config.request_history_query },
    marksForwarded: config.request_id_header,
    trustedProxies: config.trusted_proxies,
    droppedHeaders: config.drop_request_headers,
    keptHeaders: config.api_behind_edge ? [TOKEN_HEADER] : [],
    hostPorts: config.edge_host_ports,
  };
}

/** What a listener does with its connections, whichever thread has accepted them. */
interface VisitorConnections extends Pick<EdgeListenerOptions, 'onSocket'> {
  readonly clients: ArrivingClients;
}

interface DataPlane extends AssembledEdge {
  readonly visitors: { readonly https: VisitorConnections; readonly http: VisitorConnections };
}

/** Lets a connection enter now, or when visitors are admitted. */
type Admit = (socket: Socket, enter: () => void) => void;

/**
 * The phase of the data plane, the same in the server's own thread and in a worker: the edge, and how visitors enter
 * it.
 */
export async function openDataPlane(parts: EdgeParts, admit: Admit): Promise<DataPlane> {
  const assembled = await assembleEdge(parts);
  const { edge } = assembled;
  return {
    ...assembled,
    visitors: {
      https: {
        clients: parts.clientsOf('edge'),
        onSocket: (socket, client) => admit(socket, () => edge.accept(socket, client)),
      },
      http: {
        clients: parts.clientsOf('edge_http'),
        onSocket: plainConnections(
          parts.config.edge_connections_per_address,
          (socket, client) => admit(socket, () => edge.acceptPlain(socket, client)),
          parts.tallies?.plainConnections ?? null,
          () => parts.descriptors.free('visitor'),
        ),
      },
    },
  };
}

/** Names of listeners in metrics and log. `tcp`: the ports of tcp tunnels. */
type ProxiedListener = 'edge' | 'edge_http' | 'tunnel' | 'tcp';

interface ProxiedClientsDependencies {
  readonly config: Config;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly descriptors: DescriptorBudget;
}

/** The same as for a ClientHello, and the two share it. */
const HEADER_TIMEOUT_MS = 10_000;
/** As many as there may be pending handshakes. A proxy sends its header first, so few wait at a time. */
const MAX_WAITING = 4096;
const LOG_EVERY_MS = 10_000;
/** Part of normal operation: health checks connect and say nothing. */
const QUIET: ReadonlySet<ArrivalProblem> = new Set(['closed', 'draining']);

/** Who the clients of each listener are, behind the proxies of `proxy_protocol_from`. */
export function proxiedClients({
  config,
  logger,
  registry,
  descriptors,
}: ProxiedClientsDependencies): (listener: ProxiedListener) => ArrivingClients {
  const refusals = new Counter({
    name: 'postern_proxy_protocol_refusals_total',
    help: 'Connections from proxy_protocol_from that were closed for lack of a valid PROXY header, by listener and reason.',
    labelNames: ['listener', 'reason'],
    registers: [registry],
  });
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  return (listener) =>
    new ArrivingClients({
      proxies: config.proxy_protocol_from,
      timeoutMs: HEADER_TIMEOUT_MS,
      maxWaiting: MAX_WAITING,
      hasRoom: () => descriptors.admits(listener === 'tunnel' ? 'agent' : 'visitor'),
      onRefused: ({ proxy, problem, message }) => {
        refusals.labels(listener, problem).inc();
        const nowMs = performance.now();
        const isLoud = !QUIET.has(problem) && nowMs - loggedAtMs >= LOG_EVERY_MS;
        if (isLoud) loggedAtMs = nowMs;
        const fields = { listener, proxy, reason: problem, why: message, setting: 'proxy_protocol_from' };
        logger[isLoud ? 'warn' : 'debug'](fields, 'closed a connection of a proxy: it has no valid PROXY header');
      },
    });
}
