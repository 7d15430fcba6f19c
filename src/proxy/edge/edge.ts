import type { Socket } from 'node:net';
import type { Clock } from '../../kit/clock.ts';
import { type ArrivedClient, type ArrivingClients, peerOf } from '../../kit/net/arriving-clients.ts';
import type { DescriptorBudget } from '../../kit/process/descriptor-budget.ts';
import { createDenseIds } from '../../kit/text/ksuid.ts';
import type { Identity } from '../../modules/contract/decides.ts';
import type { ReservedNames } from '../../modules/reserved-names.ts';
import type { EdgeSnapshot } from '../snapshot/edge-snapshot.ts';
import type { Snapshots } from '../snapshot/snapshots.ts';
import type { BackendTraffic } from '../telemetry/metrics/backend-traffic.ts';
import type { EdgeMetrics, LiveCounts } from '../telemetry/metrics/edge-metrics.ts';
import type { RequestHistory } from '../telemetry/requests/request-history.ts';
import type { RequestFacts } from '../telemetry/traffic-facts.ts';
import { RecordedTrace } from '../tracing/request-trace.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { TOO_MANY_FILES } from '../upstream/upstream-failure.ts';
import { Admission, type EdgeTallies } from './admission.ts';
import { NO_TRANSPORT_SECURITY, strictTransportSecurity } from './answers/strict-transport-security.ts';
import { answerVacant, VacantNames } from './answers/vacant-names.ts';
import { ClientAddresses, type ConnectionFacts, onPlainHost, plainFacts } from './connections/connection-facts.ts';
import { currentFacts } from './connections/handshake-suffices.ts';
import { drainEdge, type EdgeDrainOptions } from './drain-edge.ts';
import type { EdgeRuntime } from './edge-runtime.ts';
import { type EdgeSettings, headRules } from './edge-settings.ts';
import { type Exchange, serveRequest } from './exchange/exchange.ts';
import { LiveExchanges, LOOK_EVERY_MS, SlowSenders } from './exchange/live-exchanges.ts';
import { backendTargets } from './forwarding/backend-targets.ts';
import { EarlyAnswers, OverloadRefusals } from './forwarding/early-answers.ts';
import { AddressesInUse, Upstreams } from './forwarding/upstreams.ts';
import { HttpServers } from './http/http-servers.ts';
import type { IncomingRequest } from './http/incoming-request.ts';
import type { RequestHead } from './http/request-head.ts';
import { UnsentResponses } from './http/unread-bodies.ts';
import { answerChallenge, type RedirectOptions, redirectToHttps } from './listeners/plain-answers.ts';
import { accessLine, unreadLine, unreadReason } from './reports/access-log.ts';
import { moduleDecisions } from './reports/observed-request.ts';
import { countedRequest, recordedRequest, recordedUnread } from './reports/record-request.ts';
import { requestSpans } from './reports/request-spans.ts';
import { UnknownNames } from './reports/unknown-names.ts';
import type { AcmeChallenge, AcmeChallenges } from './tls/acme-challenges.ts';
import type { CertificateStore } from './tls/certificate-store.ts';
import type { SharedSecret } from './tls/host-servers.ts';
import { createTlsFront } from './tls/tls-front.ts';
import type { TlsLog } from './tls/tls-ports.ts';
import type { PublicPorts } from './tunnels/endpoint-publisher.ts';
import type { EndpointPublisher } from './tunnels/endpoints.ts';
import { createTunnelTraffic, NO_TUNNELS, type TunnelOptions, type TunnelPorts } from './tunnels/tunnel-traffic.ts';

export interface EdgeOptions {
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
  /** Null: no line per request. */
  readonly accessLog: ((line: Record<string, unknown>, who?: Pick<Identity, 'email' | 'name'>) => void) | null;
  /** Receives finished requests like the access log, but only while it wants them. */
  readonly traffic?: { wantsRequests(): boolean; requestComplete(facts: RequestFacts): void };
  /** Keeps finished requests. Absent: nobody wants them. */
  readonly history?: Pick<RequestHistory, 'isWanted' | 'record' | 'recordUnknownName' | 'tally'>;
  /** Absent: requests are not traced. */
  readonly tracing?: Pick<Tracing, 'begin' | 'send'> | null;
  /** Counts finished requests by backend. Absent: nobody wants to know. */
  readonly backendTraffic?: Pick<BackendTraffic, 'finished'>;
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
  const { snapshots, settings, clock, log, accessLog, traffic, history, tracing = null, descriptors } = options;
  const recording = settings.recording ?? { headers: [], keepsQuery: false };
  const live = new LiveExchanges<Exchange>();
  const admission = new Admission(settings.admission, () => live.all(), options.tallies);
  const slowSenders = new SlowSenders({
    minBytesPerSecond: settings.admission.minBodyBytesPerSecond,
    isScarce: () => admission.areRequestsScarce(LOOK_EVERY_MS),
    senders: () => live.all(),
  });
  const upstreams = new Upstreams(settings.upstream, {
    isAddressAllowed: (ip, port) => options.isUpstreamAllowed(ip, port),
    ...(descriptors !== undefined && {
      hasRoom: () => descriptors.admits('upstream'),
      free: () => descriptors.free('upstream'),
    }),
  });
  const freeConnections = descriptors && ((): number => descriptors.free('visitor'));
  const addresses = new ClientAddresses(settings.trustedProxies);
  const rules = headRules(settings, options.reserved);
  const random = options.random ?? Math.random;
  const metrics = options.createMetrics({
    requests: () => admission.requests,
    streams: () => admission.streams,
    connections: () => servers.connectionCount + plainServers.connectionCount,
  });
  const tunnels = createTunnelTraffic({
    tunnels: options.tunnels ?? NO_TUNNELS,
    publicPorts: options.publicPorts,
    snapshots,
    settings,
    clock,
    random,
    metrics,
    freeConnections,
    ...(options.tcpClients !== undefined && { clients: options.tcpClients }),
    onProblem: (error) => log.error({ err: error }, 'failed to accept a connection'),
  });
  const targetsOf = backendTargets({
    upstreamFor: (address, isTls) => upstreams.get(address, isTls),
    random,
    tunnels: tunnels.targets,
  });

  // A tls tunnel takes its name from a wildcard: this process cannot decrypt the connections that belong there.
  const findEdge = (host: string): EdgeSnapshot | undefined =>
    tunnels.passthroughFor(host) === undefined ? snapshots.find(host) : undefined;

  const newDenseId = createDenseIds('rq');
  const newRequestId = (): string => newDenseId(clock.nowMs());
  const unknownNames = new UnknownNames({ history, accessLog, recording, clock, newRequestId });

  const runtime: EdgeRuntime = {
    scheme: 'https',
    clock,
    forwarding: settings.forwarding,
    halfClosedMs: settings.http.keepAliveTimeoutMs,
    keepsDecisions: () => history?.isWanted === true || tracing !== null,
    tracing,
    marksForwarded: settings.marksForwarded ?? true,
    behind: options.behind ?? null,
    newRequestId: newDenseId,
    findEdge,
    targetsOf,
    clientAddress: (remoteAddress, head) => addresses.of(remoteAddress, head),
    trustedChain: (remoteAddress, head) => addresses.chain(remoteAddress, head),
    begin: (exchange) => {
      live.add(exchange);
      admission.begin(exchange);
    },
    limitExceeded: (connection, { reading, source }) => {
      const { remoteAddress } = connection;
      if (servers.isFullFor(connection)) return 'requests';
      return admission.exceeded(source !== null, () =>
        reading.ok ? addresses.of(remoteAddress, reading.head) : remoteAddress,
      );
    },
    answering: (exchange) => {
      if (exchange.isAnswering) return;
      exchange.isAnswering = true;
      if (runtime.keepsDecisions()) exchange.answeredAt = performance.now();
      admission.answer(exchange);
    },
    finish: (exchange) => {
      admission.end(exchange);
      live.delete(exchange);
      const seconds = (performance.now() - exchange.startedAt) / 1000;
      metrics.finished(exchange, seconds);
      options.backendTraffic?.finished(exchange);
      exchange.counter?.ended(exchange.bytesIn, exchange.bytesOut);
      accessLog?.(accessLine(exchange, seconds), exchange.permit?.identity);
      if (traffic?.wantsRequests() === true)
        traffic.requestComplete({ ...accessLine(exchange, seconds), decisions: moduleDecisions(exchange) });
      if (history?.isWanted === true) history.record(recordedRequest(exchange, seconds * 1000, recording));
      else history?.tally(countedRequest(exchange, seconds * 1000));
      if (tracing === null) return;
      const trace = exchange.trace ?? tracing.begin(exchange.client.head.headers);
      if (trace instanceof RecordedTrace) tracing.send(requestSpans(exchange, trace, seconds * 1000));
    },
    upstreamFailed: (exchange, failure) => {
      metrics.upstreamFailed(failure.phase, failure.reason);
      // It is not the upstream's failure, and has a line of its own.
      if (failure.reason === TOO_MANY_FILES) return;
      const { mayHaveBeenSent, ...known } = failure;
      const line = { request_id: exchange.id, upstream: exchange.targetName, ...known };
      log.warn({ ...line, may_have_been_sent: mayHaveBeenSent }, 'an upstream failed');
    },
    unread: (connection, refusal) => {
      metrics.unread(refusal.status, unreadReason(refusal.code));
      accessLog?.(unreadLine(connection, refusal));
      // Rare enough to be described for the statistics alone.
      if (refusal.host === undefined) history?.record(recordedUnread(connection, refusal, clock.nowMs()));
      else unknownNames.vacant(refusal.host, connection.remoteAddress, refusal);
    },
  };

  const plainRuntime: EdgeRuntime = { ...runtime, scheme: 'http', findEdge: (host) => snapshots.findPlain(host) };
  const answers = new EarlyAnswers({ history, recording, addresses, clock });
  const redirects: RedirectOptions = {
    hosts: snapshots,
    httpsPort: () => options.publicPorts().https,
    newRequestId,
    answers,
    unknownName: ({ remoteAddress }, head, answer) =>
      unknownNames.request(head, addresses.of(remoteAddress, head), answer),
  };

  const overload = new OverloadRefusals({
    newRequestId,
    answers,
    refused: (limit) => metrics.overloaded(limit),
    warn: (fields, message) => log.warn(fields, message),
  });
  const serve = (of: EdgeRuntime, connection: ConnectionFacts, request: IncomingRequest): void => {
    const limit = of.limitExceeded(connection, request);
    if (limit === null) serveRequest(of, connection, request);
    else overload.refuse(connection, request, limit);
  };

  const transportSecurity = strictTransportSecurity(settings.strictTransportSecurity ?? NO_TRANSPORT_SECURITY);
  const vacantNames = new VacantNames((options.tunnels ?? NO_TUNNELS).endpoints.domain);
  const isServed = (host: string): boolean =>
    snapshots.find(host) !== undefined || tunnels.passthroughFor(host) !== undefined;
  /** Whether nothing serves the host of the request, and its client has been told so. */
  const refusedAsVacant = (connection: ConnectionFacts, request: IncomingRequest): boolean => {
    const host = request.reading.ok ? request.reading.head.host : '';
    if (!vacantNames.has(host) || isServed(host)) return false;
    answerVacant(runtime, host, connection, request);
    return true;
  };
  const servers = new HttpServers({
    scheme: 'https',
    limits: settings.http,
    rules,
    handle: (connection, request) => {
      request.writer.ownHeader = transportSecurity(request.reading);
      if (connection.edgeId === '' && refusedAsVacant(connection, request)) return;
      const { reading } = request;
      serve(runtime, reading.ok ? currentFacts(connection, reading.head.host, findEdge) : connection, request);
    },
    onSessionError: (reason, error) => {
      metrics.sessionFailed(reason);
      log.debug({ err: error }, 'an HTTP/2 connection was ended');
    },
  });
  const challengeOf = ({ method, host, path }: RequestHead): AcmeChallenge | undefined =>
    options.challenges.forRequest({ method, host, target: path.target });
  const plainServers = new HttpServers({
    scheme: 'http',
    limits: settings.http,
    rules,
    handle: (connection, request) => {
      const { reading, writer } = request;
      const challenge = reading.ok ? challengeOf(reading.head) : undefined;
      if (challenge !== undefined) {
        metrics.challengeAnswered('http-01');
        const answer = answerChallenge(challenge, connection, writer, newRequestId());
        answers.challenged(connection, request, answer);
        return;
      }
      const edge = reading.ok ? snapshots.findPlain(reading.head.host) : undefined;
      if (reading.ok && edge === undefined) {
        if (!refusedAsVacant(connection, request)) redirectToHttps(redirects, connection, reading.head, request);
      } else serve(plainRuntime, edge === undefined ? connection : onPlainHost(connection, edge), request);
    },
    onSessionError: () => {},
  });
  const front = createTlsFront({
    snapshots,
    passthroughFor: (host) => tunnels.passthroughFor(host),
    certificates: options.certificates,
    challenges: options.challenges,
    limits: settings.tls,
    ticketSecret: options.ticketSecret,
    tallies: options.tallies,
    freeConnections,
    clock,
    log,
    metrics,
    onConnection: ({ socket, protocol, servername, edge, tlsGeneration, remoteAddress, clientCertificate }) =>
      servers.accept(socket, protocol, {
        serverName: servername,
        edgeId: edge.id,
        tlsGeneration,
        tlsVersion: socket.getProtocol() ?? '',
        clientAuthorities: edge.tls.clientAuthorities ?? [],
        remoteAddress,
        isFromProxy: addresses.isTrusted(remoteAddress),
        clientCertificate,
      }),
    vacantNames,
    onUnknownName: (name, clientAddress) => unknownNames.handshake(name, clientAddress),
    onVacant: ({ socket, protocol, servername, remoteAddress }) =>
      servers.accept(socket, protocol, {
        ...plainFacts(remoteAddress, addresses),
        serverName: servername,
        tlsVersion: socket.getProtocol() ?? '',
      }),
  });

  const addressesInUse = new AddressesInUse(snapshots.all());
  snapshots.onSwap((edgeId, now, before) => {
    upstreams.release(addressesInUse.swap(before, now));
    // Before requests are cut: those of a deleted route would be counted in its series, which are removed with it.
    metrics.edgeSwapped(edgeId, now);
    live.reevaluate(edgeId, now);
    if (before !== null && before.isPlain !== true) {
      const gone = before.hosts.filter((host) => now?.hosts.includes(host) !== true);
      front.forget(options.certificates.forget(gone), before.tls);
    }
  });

  const unsent = new UnsentResponses(function* () {
    yield* servers.unsentResponses();
    yield* plainServers.unsentResponses();
  });
  const lookTimer = setInterval(() => {
    void runtime.behind?.(performance.now());
    live.look(clock.nowMs());
  }, LOOK_AT_EXCHANGES_MS).unref();
  const slowTimer = setInterval(() => slowSenders.look(performance.now()), LOOK_EVERY_MS).unref();

  return {
    accept: (socket, client) => front.accept(socket, client),
    acceptPlain: (socket, client = peerOf(socket)) =>
      plainServers.accept(socket, 'http/1.1', plainFacts(client.address, addresses)),
    endpoints: tunnels.endpoints,
    tunnelPorts: tunnels.ports,
    get requestsInFlight() {
      return live.count;
    },
    isPassthrough: (host) => tunnels.passthroughFor(host) !== undefined,
    drain: async (timeoutMs, how = {}) => {
      await drainEdge({ live, servers: [servers, plainServers], front, tunnels }, timeoutMs, how);
      await upstreams.close();
      unsent.close();
      clearInterval(lookTimer);
      clearInterval(slowTimer);
    },
  };
}
