import type { Socket } from 'node:net';
import type { Clock } from '../../kit/clock.ts';
import type { ArrivedClient, ArrivingClients } from '../../kit/net/arriving-clients.ts';
import { isTcpUnderPressure } from '../../kit/net/tcp-memory.ts';
import type { DescriptorBudget } from '../../kit/process/descriptor-budget.ts';
import { RepeatedWarnings } from '../../kit/repeated-warnings.ts';
import { createDenseIds } from '../../kit/text/ksuid.ts';
import type { ReservedNames } from '../../modules/reserved-names.ts';
import type { EdgeSnapshot } from '../snapshot/edge-snapshot.ts';
import type { Snapshots } from '../snapshot/snapshots.ts';
import type { EdgeMetrics, LiveCounts } from '../telemetry/metrics/edge-metrics.ts';
import type { EdgeTallies } from './admission.ts';
import { VacantNames } from './answers/vacant-names.ts';
import { ClientAddresses } from './connections/connection-facts.ts';
import { drainEdge, type EdgeDrainOptions } from './drain-edge.ts';
import type { EdgeRuntime } from './edge-runtime.ts';
import { type EdgeSettings, headRules } from './edge-settings.ts';
import { LOOK_EVERY_MS } from './exchange/live-exchanges.ts';
import { backendTargets } from './forwarding/backend-targets.ts';
import { EarlyAnswers } from './forwarding/early-answers.ts';
import { Folders, NO_FOLDERS } from './forwarding/folders.ts';
import { AddressesInUse, Upstreams } from './forwarding/upstreams.ts';
import { StalledResponses } from './http/stalled-responses.ts';
import { UnsentResponses } from './http/unread-bodies.ts';
import { VisitorServers } from './listeners/visitor-servers.ts';
import { type RequestAudience, RequestReports, UnknownNames } from './reports/request-reports.ts';
import { EdgeLoad, ServingRuntime } from './serving-runtime.ts';
import type { AcmeChallenges } from './tls/acme-challenges.ts';
import type { CertificateStore } from './tls/certificate-store.ts';
import type { SharedSecret } from './tls/host-servers.ts';
import { TlsFront } from './tls/tls-front.ts';
import type { TlsLog } from './tls/tls-ports.ts';
import type { PublicPorts } from './tunnels/endpoint-publisher.ts';
import type { EndpointPublisher } from './tunnels/endpoints.ts';
import {
  createTunnelTraffic,
  NO_TUNNELS,
  type TunnelOptions,
  type TunnelPorts,
  type TunnelTraffic,
} from './tunnels/tunnel-traffic.ts';

export interface EdgeOptions extends RequestAudience {
  readonly snapshots: Snapshots;
  readonly certificates: CertificateStore;
  readonly challenges: Pick<AcmeChallenges, 'forHello' | 'forRequest'>;
  readonly settings: EdgeSettings;
  /** See `TlsFrontOptions`. */
  readonly ticketSecret?: SharedSecret | undefined;
  /** Absent: this thread serves alone. */
  readonly tallies?: EdgeTallies | undefined;
  /** Names that modules claim on every host. */
  readonly reserved: Pick<ReservedNames, 'headers'>;
  readonly clock: Clock;
  readonly log: TlsLog & { warn(fields: object, message: string): void };
  createMetrics(live: LiveCounts): EdgeMetrics;
  /** See `EdgeRuntime`; also called twice a second. */
  readonly behind?: EdgeRuntime['behind'];
  /** Ports of the listeners as clients see them. Called once these are open. */
  readonly publicPorts: PublicPorts;
  /** For the ports of tcp tunnels. Absent: every client connects directly. */
  readonly tcpClients?: ArrivingClients;
  /** Absent: no agent can reach this process. */
  readonly tunnels?: TunnelOptions;
  /** Allowed upstream addresses, checked when a connection is made. */
  isUpstreamAllowed(ip: string, port: number): boolean;
  /** File descriptors of the process. Absent: there are enough. */
  readonly descriptors?: Pick<DescriptorBudget, 'admits' | 'free'>;
  readonly random?: () => number;
}

export interface Edge {
  /** Takes over an accepted connection of the HTTPS listener. */
  accept(socket: Socket, client?: ArrivedClient): void;
  /** Takes over an accepted connection of the plain HTTP listener. */
  acceptPlain(socket: Socket, client?: ArrivedClient): void;
  /** Endpoints published by agents. */
  readonly endpoints: EndpointPublisher;
  /** Ports of current tcp tunnels: addresses of our own. */
  readonly tunnelPorts: TunnelPorts;
  /** Tells clients to connect elsewhere, lets requests in progress finish for up to `timeoutMs`, then cuts the rest. */
  drain(timeoutMs: number, options?: EdgeDrainOptions): Promise<void>;
  readonly requestsInFlight: number;
  /** Whether connections for a host go to an agent undecrypted. */
  isPassthrough(host: string): boolean;
}

/** A stream is cut within a second of its permit ending. */
const LOOK_AT_EXCHANGES_MS = 500;

/** The data plane: a pure function of snapshots. It knows no store and no API. */
export function createEdge(options: EdgeOptions): Edge {
  const load = new EdgeLoad(options.settings, options.tallies);
  const metrics = options.createMetrics(load);
  const destinations = openDestinations(options, metrics);
  const { tunnels } = destinations;
  const reporting = createReporting(options, metrics);
  const vacantNames = new VacantNames((options.tunnels ?? NO_TUNNELS).endpoints.domain);
  const visitors = createVisitorServers(options, { load, metrics, vacantNames, ...destinations, ...reporting });
  const front = createTlsFront(options, { metrics, vacantNames, visitors, ...destinations, ...reporting });
  followSnapshots(options, { load, metrics, front, ...destinations });
  const stopWatching = watchLoad(options, { load, visitors, tunnels });
  return {
    accept: (socket, client) => front.accept(socket, client),
    acceptPlain: (socket, client) => visitors.acceptPlain(socket, client),
    endpoints: tunnels.endpoints,
    tunnelPorts: tunnels.ports,
    get requestsInFlight() {
      return load.exchanges.count;
    },
    isPassthrough: (host) => tunnels.passthroughFor(host) !== undefined,
    drain: async (timeoutMs, how = {}) => {
      await drainEdge({ live: load.exchanges, servers: load.servers, front, tunnels }, timeoutMs, how);
      await destinations.upstreams.close();
      stopWatching();
    },
  };
}

/** File descriptors for connections of visitors. */
function freeConnectionsOf({ descriptors }: EdgeOptions): (() => number) | undefined {
  return descriptors && ((): number => descriptors.free('visitor'));
}

/** Where requests and connections go: pools of upstreams, and the tunnels of agents. */
interface Destinations {
  readonly upstreams: Upstreams;
  readonly tunnels: TunnelTraffic;
  readonly targetsOf: EdgeRuntime['targetsOf'];
}

function openDestinations(options: EdgeOptions, metrics: EdgeMetrics): Destinations {
  const { snapshots, settings, clock, log, descriptors, random = Math.random } = options;
  const upstreams = new Upstreams(settings.upstream, {
    isAddressAllowed: (ip, port) => options.isUpstreamAllowed(ip, port),
    ...(descriptors !== undefined && {
      hasRoom: () => descriptors.admits('upstream'),
      free: () => descriptors.free('upstream'),
    }),
  });
  const folders = new Folders(settings.folders ?? NO_FOLDERS, descriptors && (() => descriptors.admits('upstream')));
  const tunnels = createTunnelTraffic({
    ...{ snapshots, settings, clock, random, metrics },
    tunnels: options.tunnels ?? NO_TUNNELS,
    publicPorts: options.publicPorts,
    freeConnections: freeConnectionsOf(options),
    ...(options.tcpClients !== undefined && { clients: options.tcpClients }),
    onProblem: (error) => log.error({ err: error }, 'failed to accept a connection'),
  });
  const targetsOf = backendTargets({
    upstreamFor: (address, isTls) => upstreams.get(address, isTls),
    folderOf: (backend, rules) => folders.of(backend, rules),
    random,
    tunnels: tunnels.targets,
  });
  return { upstreams, tunnels, targetsOf };
}

/** Who a request comes from, what it is called, and who hears of it. */
interface Reporting {
  readonly addresses: ClientAddresses;
  readonly newDenseId: (nowMs: number) => string;
  readonly newRequestId: () => string;
  readonly reports: RequestReports;
  /** For requests that no route was asked for. */
  readonly answers: EarlyAnswers;
  readonly unknownNames: UnknownNames;
}

function createReporting(options: EdgeOptions, metrics: EdgeMetrics): Reporting {
  const { settings, clock, history, accessLog, log } = options;
  const { recording = { headers: [], keepsQuery: false } } = settings;
  const addresses = new ClientAddresses(settings.trustedProxies);
  const newDenseId = createDenseIds('rq');
  const newRequestId = (): string => newDenseId(clock.nowMs());
  const unknownNames = new UnknownNames({ history, accessLog, recording, clock, newRequestId });
  const reports = new RequestReports({
    ...{ metrics, recording, unknownNames, clock, log },
    audience: options,
  });
  const answers = new EarlyAnswers({ history, recording, addresses, clock });
  return { addresses, newDenseId, newRequestId, reports, answers, unknownNames };
}

interface VisitorParts extends Reporting, Pick<Destinations, 'tunnels' | 'targetsOf'> {
  readonly load: EdgeLoad;
  readonly metrics: EdgeMetrics;
  readonly vacantNames: VacantNames;
}

function createVisitorServers(options: EdgeOptions, parts: VisitorParts): VisitorServers {
  const { snapshots, settings, clock, log, challenges, publicPorts, behind = null, tracing = null } = options;
  const { load, tunnels, targetsOf, reports, addresses, newDenseId: newRequestId } = parts;
  const shared = { settings, clock, behind, tracing, load, targetsOf, reports, addresses, newRequestId };
  // A tls tunnel takes its name from a wildcard: this process cannot decrypt the connections that belong there.
  const findEdge = (host: string): EdgeSnapshot | undefined =>
    tunnels.passthroughFor(host) === undefined ? snapshots.find(host) : undefined;
  return new VisitorServers({
    ...parts,
    ...{ settings, snapshots, log, challenges, publicPorts },
    rules: headRules(settings, options.reserved),
    runtime: new ServingRuntime('https', findEdge, shared),
    plainRuntime: new ServingRuntime('http', (host) => snapshots.findPlain(host), shared),
    isPassthrough: (host) => tunnels.passthroughFor(host) !== undefined,
  });
}

interface FrontParts extends Pick<Destinations, 'tunnels'>, Pick<Reporting, 'unknownNames'> {
  readonly metrics: EdgeMetrics;
  readonly vacantNames: VacantNames;
  readonly visitors: VisitorServers;
}

function createTlsFront(options: EdgeOptions, parts: FrontParts): TlsFront {
  const { snapshots, settings, certificates, challenges, ticketSecret, tallies, clock, log } = options;
  const { tunnels, metrics, vacantNames, visitors, unknownNames } = parts;
  return new TlsFront({
    ...{ snapshots, certificates, challenges, ticketSecret, tallies, clock, log, metrics, vacantNames },
    limits: settings.tls,
    freeConnections: freeConnectionsOf(options),
    passthroughFor: (host) => tunnels.passthroughFor(host),
    onConnection: (connection) => visitors.accept(connection),
    onVacant: (connection) => visitors.acceptVacant(connection),
    onUnknownName: (name, clientAddress) => unknownNames.handshake(name, clientAddress),
  });
}

interface SnapshotFollowers extends Pick<Destinations, 'upstreams'> {
  readonly load: EdgeLoad;
  readonly metrics: EdgeMetrics;
  readonly front: TlsFront;
}

/** Applies a changed edge to what is open: pools, series, requests in progress and certificates. */
function followSnapshots({ snapshots, certificates }: EdgeOptions, followers: SnapshotFollowers): void {
  const { upstreams, metrics, load, front } = followers;
  const addressesInUse = new AddressesInUse(snapshots.all());
  snapshots.onSwap((edgeId, now, before) => {
    upstreams.release(addressesInUse.swap(before, now));
    // Before requests are cut: those of a deleted route would be counted in its series, which are removed with it.
    metrics.edgeSwapped(edgeId, now);
    load.exchanges.reevaluate(edgeId, now);
    if (before !== null && before.isPlain !== true) {
      const gone = before.hosts.filter((host) => now?.hosts.includes(host) !== true);
      front.forget(certificates.forget(gone), before.tls);
    }
  });
}

interface WatchedParts extends Pick<Destinations, 'tunnels'> {
  readonly load: EdgeLoad;
  readonly visitors: VisitorServers;
}

/** Ends exchanges whose permit has ended, senders that are too slow, and responses that nobody reads. */
function watchLoad({ behind, clock, log }: EdgeOptions, { load, visitors, tunnels }: WatchedParts): () => void {
  const unsent = new UnsentResponses(() => visitors.unsentResponses());
  const shortMemory = new RepeatedWarnings(
    log,
    'the TCP buffers of this machine take more than Linux wants: stalled responses of one address were ended. See net.ipv4.tcp_mem',
  );
  const stalled = new StalledResponses({
    responses: function* () {
      yield* visitors.unsentResponses();
      yield* tunnels.heldResponses();
    },
    isMemoryShort: () => isTcpUnderPressure(),
    onRelieved: (address, responses) => shortMemory.warn({ client_address: address, responses }, ''),
  });
  const lookTimer = setInterval(() => {
    void behind?.(performance.now());
    load.exchanges.look(clock.nowMs());
  }, LOOK_AT_EXCHANGES_MS).unref();
  const slowTimer = setInterval(() => load.slowSenders.look(performance.now()), LOOK_EVERY_MS).unref();
  return () => {
    unsent.close();
    stalled.close();
    clearInterval(lookTimer);
    clearInterval(slowTimer);
  };
}
