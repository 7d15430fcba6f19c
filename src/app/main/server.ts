import { Registry } from 'prom-client';
import { Health } from '../../control/api/health.ts';
import { type ApiHandler, startingApi } from '../../control/api/starting-api.ts';
import { bootstrap } from '../../control/bootstrap.ts';
import { createCatalog } from '../../control/documents/catalog.ts';
import { identityAddress } from '../../control/identity/contracts.ts';
import { resources } from '../../control/resources/registry.ts';
import { type Clock, systemClock } from '../../kit/clock.ts';
import { loadPart } from '../../kit/load-part.ts';
import { addLogMetrics, createLog, followBugs } from '../../kit/logging/logger.ts';
import { formatListenAddress, isWildcardHost, type ListenAddress } from '../../kit/net/listen-address.ts';
import { modules } from '../../modules/registry.ts';
import { internalCaOf } from '../../proxy/pki/server-internal-ca.ts';
import { openApiTls } from '../../proxy/pki/tls-source.ts';
import { ProblemIndex } from '../../proxy/snapshot/problems.ts';
import { Snapshots } from '../../proxy/snapshot/snapshots.ts';
import { BackendTraffic } from '../../proxy/telemetry/metrics/backend-traffic.ts';
import { NO_THREADS } from '../../proxy/telemetry/other-nodes.ts';
import { OwnAddresses, upstreamGuard } from '../../proxy/upstream/upstream-guard.ts';
import { prepareDataDir } from '../../store/data-directory.ts';
import { Replica } from '../../store/replica/replica.ts';
import { reportStore, startStoreUpkeep } from '../../store/store-upkeep.ts';
import { agentEvents } from '../../tunnel/gateway/agent-events.ts';
import { OnlineTunnelTable } from '../../tunnel/gateway/online-tunnel-table.ts';
import type { NodeCounts } from '../../tunnel/nodes/membership/known-nodes.ts';
import type { Config } from '../settings/schema.ts';
import { openAddressLists } from './address-lists.ts';
import { openAlerts } from './alerts.ts';
import { openApi } from './api.ts';
import { openAcme } from './certificates/acme.ts';
import { CertificateFiles } from './certificates/certificate-files.ts';
import { openDirectory } from './cluster/directory.ts';
import { type OpenedGateway, openGateway, ownTunnels, serveHops } from './cluster/gateway.ts';
import { addNodeMetrics, addPeerMetrics, nodeName, openNodes, openRequests } from './cluster/nodes.ts';
import { othersWrites } from './cluster/others-writes.ts';
import { backendGuard, followLists } from './data-plane/assemble-edge.ts';
import { Circuits } from './data-plane/circuits.ts';
import { openDescriptorBudget } from './data-plane/descriptors.ts';
import { createNodeMemories, MAIN_THREAD } from './data-plane/module-runtimes.ts';
import { proxiedClients } from './data-plane/proxied-clients.ts';
import { forbiddenUpstream, ownApi } from './data-plane/route-upstreams.ts';
import { openServerTracing, SEND_REST_WITHIN_MS } from './data-plane/tracing.ts';
import { openTraffic } from './data-plane/traffic.ts';
import { type EdgeDependencies, openEdge } from './edge.ts';
import { type EventDelivery, openEventDelivery, openEventRecording } from './events.ts';
import { Explainer } from './explainer.ts';
import { ownedStore } from './handover/predecessor.ts';
import { openStore } from './open-store.ts';
import { loadIdentity } from './people/load-identity.ts';
import { loginBudgets, moduleLogins } from './people/logins.ts';
import { openMail } from './people/mail.ts';
import type { CloseOptions, RunningServer, ServerOptions } from './running-server.ts';
import { type ShutDownParts, shutDown } from './shut-down.ts';
import { Sites } from './sites.ts';
import { listenedAddresses, readyAddresses } from './sockets/listened-addresses.ts';
import { openListener } from './sockets/listener.ts';
import { ListeningSockets } from './sockets/listening-sockets.ts';
import { programVersion } from './version.ts';
import { type EdgeWorkers, workersOf } from './workers/edge-workers.ts';
import { type OpenedWorkers, openEdgeInWorkers } from './workers/open-edge-in-workers.ts';

export type { ServerOptions } from './running-server.ts';

/** The composition root: opens everything from top to bottom; on a failure it closes what was opened. */
export async function startServer(config: Config, options: ServerOptions = {}): Promise<RunningServer> {
  const { predecessor = null, monotonicMs, sockets = predecessor?.sockets ?? new ListeningSockets() } = options;
  const ownClock = options.clock ?? systemClock;
  await using opened = new AsyncDisposableStack();

  const log = createLog(config.log_level, options.logDestination, nodeName(config));
  const { logger, requestLogger } = log;
  opened.defer(() => log.flush());

  predecessor?.refuseOtherDirectory(config.data_dir);
  await prepareDataDir(config.data_dir);
  const store = await openStore(config, ownClock, predecessor?.store.commit);
  opened.defer(() => store.close());
  const owned = ownedStore(predecessor, store.sharing, logger);
  const reports = reportStore(store, logger);
  opened.defer(() => reports.close());
  const upkeep = startStoreUpkeep(store, ownClock, logger, {
    maxDays: config.history_max_age,
    maxEntries: config.history_max_entries,
  });
  opened.defer(() => upkeep.close());

  const replica = await Replica.open(store);
  opened.defer(() => replica.close());

  let gateway: OpenedGateway | null = null;
  const counts = (): NodeCounts => nodeCounts(gateway);
  const opening = { config, store, replica, logger, sockets, predecessor, counts, monotonicMs };
  const nodes = await openNodes({ ...opening, clock: ownClock });
  opened.defer(() => nodes.drain(0));
  opened.defer(() => nodes.leave());
  const { membership, links } = nodes;
  // The same on all nodes: a login or a trial may begin on one and end on another, and one of them may have a wrong clock.
  const clock: Clock = options.clock ?? membership;

  const catalog = createCatalog(resources, options.modules ?? modules);
  const registry = new Registry();
  addLogMetrics(registry, log);
  addNodeMetrics(registry, membership.self);
  opened.defer(followBugs(logger, registry));
  const workerCount = config.roles.includes('edge') ? workersOf(config) : 1;
  const { budget: descriptors } = opened.adopt(
    openDescriptorBudget({ registry, logger, isOneOfSeveral: workerCount > 1 }),
    (it) => it.close(),
  );

  const internalCa = internalCaOf({ config, store, replica, clock, logger });
  const tls = await openApiTls({
    config,
    clock,
    internalCa,
    records: replica,
    onProblem: (err) => logger.error({ err }, 'failed to renew the certificate of the API'),
  });
  opened.defer(() => tls?.close());

  // The listener comes before the API: with port 0 the base URL is known only now. Until the API is ready it responds
  // with 503.
  const health = new Health();
  let currentApi: ApiHandler = startingApi(clock);
  const listener = await openListener({
    setting: 'api_listen',
    address: config.api_listen,
    currentApi: () => currentApi,
    tls,
    maxConnections: descriptors.share,
    open: (server) => sockets.open(server, 'api_listen', config.api_listen),
  });
  opened.defer(() => listener.drain(0));
  const baseUrl = config.api_url ?? derivedBaseUrl(listener.address, tls !== null);

  const recording = openEventRecording({ config, store, replica, clock, logger, registry });
  opened.defer(() => recording.close());
  let delivery: EventDelivery | null = null;

  const problems = new ProblemIndex();
  const tunnels = new OnlineTunnelTable();
  const tracing = await openServerTracing({ config, store, registry, logger, node: membership.self.name });
  opened.defer(() => tracing?.close(SEND_REST_WITHIN_MS));
  const hopWebSockets = serveHops({ links, tunnels, tracing, clock });
  addPeerMetrics(registry, links);
  const directory = openDirectory({ membership, links, local: tunnels, nodes: store.nodes, replica, logger });
  opened.defer(() => directory.close());
  let workers: EdgeWorkers | null = null;
  const recorded = openRequests(config, nodes, {
    ask: (question) => workers?.ask(question) ?? NO_THREADS.ask(question),
  });
  const { history, requests } = recorded;
  const here = ownTunnels(tunnels, directory.directory, () => (workers === null ? gateway : null));
  const shown = { ...recorded, clock, logger, replica, membership, problems, ownTunnels: here, config };
  const traffic = openTraffic(shown);
  await traffic.kept?.start();
  const base = { config, store, replica, news: nodes.news, catalog, registry, clock, logger, requestLogger };
  const own = new OwnAddresses();
  own.addApi(listener.address);
  const isAddressAllowed = upstreamGuard(config.upstream_allow_cidrs, own);
  const isBackendAllowed = backendGuard(config, own);
  const lists = await openAddressLists({ ...base, own });
  opened.defer(() => lists.close());
  const address = identityAddress(config.identity_host);
  const identity =
    address === null
      ? null
      : await (await loadIdentity()).openIdentity(address, {
          scopes: catalog.scopes,
          ...base,
          baseUrl,
          credentialOf: (endpointId) => directory.credentialOf(endpointId),
          isAddressAllowed,
        });
  opened.defer(() => identity?.close());
  const ownIssuer = identity?.ownIssuer ?? null;
  const ofOthers = { logins: moduleLogins(store, nodes.news), others: othersWrites(store, replica, nodes.news) };
  const seen = {
    ...{ tunnels: directory.tunnels, mayServeNames: () => membership.mayServe(), ownIssuer },
    nodeMemories: createNodeMemories(catalog.modules, config.moduleSettings),
    thread: MAIN_THREAD,
  };
  const whyForbidden = forbiddenUpstream(own, isBackendAllowed);
  const explainer = opened.adopt(
    new Explainer({
      ...base,
      ...ofOthers,
      ...seen,
      isForbidden: (address) => whyForbidden(address) !== null,
      sessions: store.logins,
      node: membership.self.name,
    }),
    (it) => it.close(),
  );
  const circuits = new Circuits(replica, seen.nodeMemories, clock);
  circuits.addMetrics(registry);
  let snapshots: Snapshots | null = null;
  const mail = openMail({ ...base, membership });
  opened.defer(() => mail?.close());
  const api = await openApi({
    ...base,
    ownIssuer,
    isAddressAllowed,
    isBackendAllowed,
    isOwnApi: ownApi(own, isBackendAllowed),
    whyForbidden,
    mail: mail?.queue ?? null,
    internalCa,
    health,
    baseUrl,
    problems,
    metrics: () => workers?.metrics(registry) ?? registry.metrics(),
    served: (revision) => {
      const read = lists.read(revision)?.then(() => workers?.callAll('ping')) ?? null;
      return servedBy(servedBy(snapshots?.served(revision) ?? null, workers?.served(revision) ?? null), read);
    },
    addressLists: lists,
    nodes,
    requests,
    traffic,
    nodeMemories: seen.nodeMemories,
    ...(options.settings !== undefined && { settings: options.settings }),
    explain: (question) => explainer.explain(question),
    destinationTester: () => delivery?.tester ?? null,
    // A server that is linked to no other one shares its lists with those that are through the store.
    ...(links !== null && { online: directory.online }),
    tunnelListen: () => gateway?.address ?? null,
    tunnelNamesUnder: (host) => gateway?.gateway.namesUnder(host) ?? [],
    sessionCommands: options.sessionCommands ?? {
      send: (id, command) => gateway?.gateway.command(id, command) ?? Promise.resolve('unreachable'),
    },
  });
  opened.defer(() => api.close());
  currentApi = api;

  const certificateFiles =
    config.certificate_file_dirs.length === 0
      ? null
      : new CertificateFiles({
          replica,
          directories: config.certificate_file_dirs,
          renew: (id, pair) => api.renewCertificate(id, pair),
          log: logger,
        });
  opened.defer(() => certificateFiles?.close());

  const backendTraffic = new BackendTraffic();
  const ownHost =
    address === null || identity === null || api.people === null
      ? null
      : identity.hostWith(
          options.identityPages?.(identity.sessions) ??
            (await loadPart(() => import('./people/identity-pages.ts'))).openIdentityPages({
              ...{ ...base, address, sessions: identity.sessions, people: api.people },
              consoleUrl: config.console_oidc_issuer === null ? `${baseUrl}/console/` : null,
              codesBy: config.identity_email_codes ? (mail?.queue ?? null) : null,
            }),
        );
  const clientsOf = proxiedClients({ config, logger, registry, descriptors });
  const attempts = loginBudgets(config, ofOthers.logins, clock);
  const edgeParts: EdgeDependencies = {
    ...base,
    ...ofOthers,
    attempts,
    own,
    internalCa,
    // One server alone keeps its keys in memory: who reads the database later can decrypt no recorded session.
    ticketSecret: store.engine === 'sqlite' ? undefined : (text) => Buffer.from(store.mac('tls-ticket', text), 'hex'),
    traffic: recording.traffic,
    backendTraffic,
    history,
    tracing,
    clientsOf,
    descriptors,
    ...seen,
    ownHost,
    sockets,
    addressLists: lists.known,
  };
  const inWorkers = (): Promise<OpenedWorkers> =>
    openEdgeInWorkers(
      {
        ...edgeParts,
        replica,
        catalog,
        node: membership.self.name,
        secretKeyId: () => store.secretKeyId,
        rightLeftMs: () => membership.rightLeftMs(),
        writeLog: (lines) => log.write(lines),
      },
      workerCount,
    );
  const threads = workerCount > 1 ? await inWorkers() : null;
  workers = threads?.workers ?? null;
  log.beforeFlush(() => workers?.flushLogs());
  // After the gateway's end: workers have the connections of agents.
  opened.defer(() => threads?.close());
  if (threads !== null) directory.directory.follow(threads.onlineTunnels);
  const edge = config.roles.includes('edge') ? (threads ?? (await openEdge(edgeParts))) : null;
  opened.defer(() => edge?.drain(0));
  if (edge !== null) own.addEdge(...edge.https, ...edge.http);

  // A node without a gateway serves the agents of others too.
  const endpoints = edge === null ? null : directory.publishOn(edge.endpoints);
  if (endpoints !== null && config.roles.includes('gateway')) {
    const events = agentEvents({
      recording,
      read: (resource, id) => api.readLive(resource, id),
      onProblem: (err) => logger.error({ err }, 'failed to record an agent event'),
    });
    gateway = await openGateway({
      ...base,
      internalCa,
      endpoints,
      events,
      invitations: api.invitations,
      table: tunnels,
      clients: clientsOf('tunnel'),
      sockets,
      membership,
      announcer: directory.announcer,
      ...(links !== null && { cluster: { membership, links, directory: directory.directory, store: store.nodes } }),
      owned,
      workers: threads?.agents ?? null,
    });
    own.addControl(gateway.address);
  }
  opened.defer(() => gateway?.drain(0));

  // After the listeners, which answer the challenges.
  const acme =
    edge === null
      ? null
      : openAcme({
          config,
          store,
          replica,
          clock,
          logger,
          registry,
          certificateEvent: (type, record) => api.certificateEvent(type, record),
          resolveName: options.resolveName,
          dnsLookup: options.dnsLookup,
        });
  opened.defer(() => acme?.close());

  // A process without an edge compiles the same snapshots, so that its API reports a write's effect on edges elsewhere.
  const served =
    edge?.snapshots ??
    (await Snapshots.open(replica, {
      modules: catalog.modules,
      kindOfId: catalog.kindOfId,
      moduleSettings: config.moduleSettings,
      addressLists: lists.known,
    }));
  opened.defer(() => served.close());
  if (edge === null) opened.defer(followLists(lists.known, replica, served));
  problems.follow(served);
  snapshots = served;
  identity?.follow(served);
  explainer.follow(served, edge?.isPassthrough);

  let isClosing = false;
  const deliver = async (): Promise<void> => {
    if (isClosing || !config.roles.includes('events')) return;
    const suspendDestination = (id: string): Promise<void> => api.suspendDestination(id);
    const deps = { config, store, replica, clock, logger, catalog, registry, own, suspendDestination };
    delivery = await openEventDelivery(deps);
  };
  if (predecessor === null) await deliver();
  opened.defer(() => delivery?.close(0));

  const known = { config, store, replica, catalog, clock, logger, nodes, baseUrl, directory };
  const alerts = openAlerts({ ...known, backendTraffic, descriptors, circuits });
  opened.defer(() => alerts.close());

  const isTerminal = options.isTerminal ?? false;
  const bootstrapped = await bootstrap({ config, port: api.bootstrapPort, logger, isTerminal });

  nodes.start();
  await directory.known().then(() => edge?.admit());
  health.becomeReady();
  await predecessor?.takeOver({
    acceptAgents: () => sockets.start('tunnel').then(() => nodes.acceptAgents()),
    missingTunnels: (wanted) => gateway?.missing(wanted) ?? 0,
    serve: () => sockets.start(),
  });
  if (predecessor === null) await nodes.acceptAgents();
  // One process at a time: both would append to the files of events.
  void predecessor
    ?.deliveryEnded()
    .then(deliver)
    .catch((err: unknown) => logger.error({ err }, 'failed to start the delivery of events'));
  void predecessor?.gone.then(() => nodes.takePeerSocket()).then(() => sockets.closeUnused());
  const sites =
    config.sites === null
      ? null
      : new Sites({
          ...{ path: config.sites, mayShrink: config.sites_may_shrink, env: process.env },
          ...{ call: api.operatorCall, membership, logger },
        });
  await sites?.apply();
  const addresses = listenedAddresses({
    ...{ api: listener.address, edge, tunnel: gateway?.address ?? null, peer: nodes.peerAddress },
  });
  // Printed at any log level for supervisors, which wait for it. A person at a terminal reads the address elsewhere.
  const isRead = options.logDestination === undefined && process.stdout.isTTY;
  (isRead ? logger : logger.child({}, { level: 'info' })).info(
    {
      addresses: readyAddresses(addresses),
      base_url: baseUrl,
      version: programVersion(),
      data_dir: config.data_dir,
      engine: store.engine,
      roles: config.roles,
    },
    'ready',
  );

  const running = opened.move();
  let how: CloseOptions = {};
  // First to be closed: requests in flight still need everything that was opened before.
  running.defer(async () => {
    isClosing = true;
    sites?.close();
    const parts: ShutDownParts = {
      config,
      health,
      log: logger,
      nodes,
      gateway,
      edge,
      api: listener,
      closeAcme: async () => acme?.close(),
      closeHopWebSockets: () => hopWebSockets.close(),
      closeDelivery: async (timeoutMs) => delivery?.close(timeoutMs),
    };
    // Its successor reads the file before it writes one.
    if (how.isHandedOver) await traffic.kept?.stop();
    await shutDown(parts, how);
    // With the last requests, and before the threads that know them end.
    await traffic.kept?.stop();
  });
  return {
    addresses,
    baseUrl,
    bootstrapped,
    administratorLink: () => api.administratorLink(),
    localToken: () => api.localToken(),
    log,
    store,
    replica,
    history,
    workers,
    applySites: async () => sites?.apply(),
    refreshCertificates: async () => {
      await Promise.all([tls?.refresh(), gateway?.refreshTls()]);
    },
    handover: {
      owned,
      sockets: () => [...sockets.list(), ...(edge?.tunnelSockets() ?? [])],
      store: { dataDir: config.data_dir, mark: () => store.mark() },
      sharing: store.sharing,
      agents: gateway?.agents ?? null,
    },
    close: (options = {}) => {
      how = options;
      return running.disposeAsync();
    },
  };
}

function servedBy(own: Promise<void> | null, others: Promise<void> | null): Promise<void> | null {
  if (own === null || others === null) return own ?? others;
  return Promise.all([own, others]).then(() => {});
}

function nodeCounts(gateway: OpenedGateway | null): NodeCounts {
  const { sessions = 0, tunnels = 0 } = gateway?.gateway.counts ?? {};
  return { agents: sessions, tunnels };
}

/** The API's address as clients on this machine dial it: a wildcard listener has none of its own. */
function derivedBaseUrl({ host, port }: ListenAddress, isTls: boolean): string {
  const dialled = isWildcardHost(host) ? 'localhost' : host;
  return `${isTls ? 'https' : 'http'}://${formatListenAddress({ host: dialled, port })}`;
}
