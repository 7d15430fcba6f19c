import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { ApiMetrics } from '../../control/api/api-metrics.ts';
import { LocalCallers, type LocalToken } from '../../control/api/authentication.ts';
import { createApi } from '../../control/api/create-api.ts';
import { Documentation } from '../../control/api/docs/documentation.ts';
import { type Health, healthPage, type PeerHealth, type StoreSince, verboseHealth } from '../../control/api/health.ts';
import type { ApiHandler } from '../../control/api/starting-api.ts';
import { type BootstrapPort, bootstrapPort, OPERATOR_REQUEST } from '../../control/bootstrap.ts';
import type { ForbiddenUpstream } from '../../control/checks/facts.ts';
import { openConsole } from '../../control/console/open-console.ts';
import { isRole, scopesOfRole } from '../../control/console/roles.ts';
import type { Catalog } from '../../control/documents/catalog.ts';
import { Changesets } from '../../control/documents/changesets/changesets.ts';
import { WriteOperations } from '../../control/documents/changesets/write-operation.ts';
import { PendingReverter } from '../../control/documents/confirmation/pending-reverter.ts';
import { Documents } from '../../control/documents/documents.ts';
import { Changes } from '../../control/documents/history/changes.ts';
import { HistoryChain } from '../../control/documents/history/history-chain.ts';
import { type OperationPorts, operationsOf } from '../../control/documents/operations.ts';
import { Renderer } from '../../control/documents/renderer.ts';
import { routeLogins } from '../../control/documents/route-logins.ts';
import { Search } from '../../control/documents/search.ts';
import { WantedTypes } from '../../control/events/event-recorder.ts';
import { identityAddress } from '../../control/identity/contracts.ts';
import type { MailQueue } from '../../control/identity/mail.ts';
import { People } from '../../control/identity/people.ts';
import { KeyDirectory } from '../../control/resources/api_keys/api-keys.ts';
import { credentialDirectory } from '../../control/resources/credentials/credentials.ts';
import type { DestinationTester } from '../../control/resources/event_destinations/event-destinations.ts';
import { liveEvent } from '../../control/resources/live-operations.ts';
import { certificateEvent } from '../../control/resources/managed_certificates/managed-certificates.ts';
import { coversScopes, type Principal } from '../../control/resources/operation.ts';
import { renderPasskey } from '../../control/resources/passkeys/passkeys.ts';
import type { OnlinePort } from '../../control/resources/ports.ts';
import { withRefs } from '../../control/resources/requests/requests.ts';
import type { IdentityFacts, ResourceSettings } from '../../control/resources/resource.ts';
import type { FilePair } from '../../control/resources/tls_certificates/certificate-files.ts';
import type { SessionCommands } from '../../control/resources/tunnel_sessions/tunnel-sessions.ts';
import { KeyedMutex } from '../../kit/async/turns.ts';
import type { Clock } from '../../kit/clock.ts';
import { PosternError } from '../../kit/errors.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { RequestLogger } from '../../kit/logging/logger.ts';
import { publicPorts } from '../../kit/net/host-name.ts';
import type { ListenAddress } from '../../kit/net/listen-address.ts';
import { createKsuidSource } from '../../kit/text/ksuid.ts';
import type { ModuleNetwork } from '../../modules/contract/keeps-state.ts';
import type { OwnIssuer } from '../../modules/contract/own-issuer.ts';
import type { CertificateEventType } from '../../proxy/acme/orders/open-order.ts';
import type { InternalCa } from '../../proxy/pki/internal-ca.ts';
import { addProblemMetrics, type ProblemIndex } from '../../proxy/snapshot/problems.ts';
import { TargetTester } from '../../proxy/upstream/target-tester.ts';
import type { Replica } from '../../store/replica/replica.ts';
import { addStoreMetrics } from '../../store/replica/store-metrics.ts';
import type { OutboxEvent, Store, StoredRecord } from '../../store/store.ts';
import type { Invitations } from '../../tunnel/gateway/ports.ts';
import type { Config } from '../settings/schema.ts';
import { certificateWarning, crlWarning, HostCertificateIndex } from './certificates/certificate-warnings.ts';
import { onlineInStore } from './cluster/directory.ts';
import { nodeName, type OpenedNodes } from './cluster/nodes.ts';
import { othersWrites } from './cluster/others-writes.ts';
import type { NodeMemories } from './data-plane/module-runtimes.ts';
import type { OpenedTraffic } from './data-plane/traffic.ts';
import { allErrorRows } from './error-tables.ts';
import { agentInviter, redeemedInvitations } from './invitations.ts';
import { consolePeople, firstAdministratorLink, identityScopes, signOutOneself } from './people/console-people.ts';
import { loginLimits } from './people/logins.ts';
import { openProblems } from './problems.ts';
import { type OperatorCall, operatorCall } from './sites.ts';
import { programVersion } from './version.ts';

export interface ApiDependencies {
  readonly config: Config;
  readonly store: Store;
  readonly replica: Replica;
  readonly catalog: Catalog;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly requestLogger: RequestLogger;
  readonly health: Health;
  readonly internalCa: () => Promise<InternalCa>;
  readonly baseUrl: string;
  /** Names of agents' tunnels that an edge with this host would take over. */
  tunnelNamesUnder(host: string): readonly string[];
  /** Where this process listens for agents; null: it does not, or not yet. */
  tunnelListen?(): ListenAddress | null;
  readonly problems: ProblemIndex;
  /** Where the server may connect. */
  readonly isAddressAllowed: ModuleNetwork['isAddressAllowed'];
  /** Whether traffic may go there. */
  readonly isBackendAllowed: ModuleNetwork['isAddressAllowed'];
  /** Whether traffic to this upstream reaches this API. */
  readonly isOwnApi: (upstream: string) => boolean;
  /** Why the edge may not connect to this upstream. */
  readonly whyForbidden: (upstream: string) => ForbiddenUpstream | null;
  /** See DocumentsContext. */
  served(revision: number): Promise<void> | null;
  /** Text of the metrics page. Absent: the registry knows it all. */
  metrics?(): Promise<string>;
  /** Absent: what processes have written into the store. */
  readonly online?: OnlinePort;
  /** Sends commands to agents; absent while this process holds none. */
  readonly sessionCommands?: SessionCommands;
  /** Absent where nothing is served. */
  readonly nodes?: Pick<OpenedNodes, 'membership' | 'links' | 'news'>;
  /** Absent where nothing is served. */
  readonly nodeMemories?: NodeMemories;
  /** Absent where nothing is served. */
  readonly requests?: OperationPorts['requests'];
  /** Absent where nothing is served. */
  readonly traffic?: OpenedTraffic;
  /** Settings in effect, with secrets masked. */
  readonly settings?: readonly JsonObject[];
  /** Absent where nothing is served. */
  readonly addressLists?: OperationPorts['addressLists'];
  readonly explain?: OperationPorts['explain'];
  /** Postern's own OpenID provider; null: it is off. */
  readonly ownIssuer: OwnIssuer | null;
  /** Absent: no mail is sent. */
  readonly mail?: MailQueue | null;
  /** Null while this process delivers no events. */
  destinationTester?(): DestinationTester | null;
}

export interface OpenedApi extends ApiHandler {
  readonly bootstrapPort: BootstrapPort;
  readonly administratorLink: BootstrapPort['administratorLink'];
  /** For a command on this machine; null: it needs an API key. */
  localToken(): LocalToken | null;
  /** Null: identity is off. */
  readonly people: People | null;
  /** What GET of a live resource shows; null when it is not online. */
  readLive(resource: string, id: string): Promise<JsonObject | null>;
  /** Stores the pair that was read from a certificate's files; rejects if it does not match. */
  renewCertificate(id: string, pair: FilePair): Promise<void>;
  /** The event that reports a change of a managed certificate; none when no subscription wants it. */
  certificateEvent(type: CertificateEventType, record: Pick<StoredRecord, 'id' | 'doc'>): readonly OutboxEvent[];
  readonly invitations: Invitations;
  /** Runs an operation of the API as the local operator. */
  readonly operatorCall: OperatorCall;
  /** As the operator would: an ordinary change. */
  suspendDestination(id: string): Promise<void>;
  /** Called after the last request has been answered. */
  close(): Promise<void>;
}

/** Assembles the management API. */
export async function openApi(deps: ApiDependencies): Promise<OpenedApi> {
  const { config, store, replica, catalog, registry, clock, baseUrl } = deps;
  const ksuid = createKsuidSource();
  const newId = (prefix: string): string => `${prefix}_${ksuid(clock.nowMs())}`;
  const renderer = new Renderer(catalog, () => baseUrl);
  const wanted = new WantedTypes(replica);
  const hostCertificates = new HostCertificateIndex(replica, clock);
  const warnings = { hostCertificates, clock, isAcmeOn: config.acme === 'on' };
  // A single process knows of a subscription before its creation is answered; where several share a store, others learn
  // of it later.
  const isWanted = (type: string): boolean | 'unknown' => wanted.has(type) || (store.sharing.isShared && 'unknown');

  const consoleScopesOf = identityScopes(config, catalog.scopes);
  const settings: ResourceSettings = {
    ...resourceSettings(config, catalog, (host) => deps.tunnelNamesUnder(host)),
    inviteAgent: agentInviter({
      ...{ config, replica, clock, internalCa: deps.internalCa },
      listen: () => deps.tunnelListen?.() ?? null,
      nodes: () => deps.nodes?.membership.nodes() ?? [],
    }),
    identity: identityFacts(config, deps.mail ?? null),
    consoleScopesOf,
  };
  const newToken = (prefix: string): string => `${prefix}${randomBytes(32).toString('base64url')}`;
  const context = {
    catalog,
    settings,
    store,
    replica,
    renderer,
    events: {
      renderer,
      accountId: store.accountId,
      isWanted,
      newId,
      nowMs: () => clock.nowMs(),
    },
    clock,
    mutex: new KeyedMutex(),
    served: (revision: number) => deps.served(revision),
    problemOf: (recordId: string) => deps.problems.lineOf(recordId),
    warningOf: (record: StoredRecord) => certificateWarning(record, warnings) ?? crlWarning(record, replica, clock),
    afterCommit: (task: () => Promise<void>) => task(),
    moduleState: (module: string) => ({ memory: deps.nodeMemories?.get(module) ?? null, nowMs: clock.nowMs() }),
    newId,
    newToken,
    ports: (): OperationPorts => ports,
  };
  const documents = new Documents(context);
  const invitations = redeemedInvitations(context, replica);
  const learningClient = routeLogins({
    ...{ replica, modules: catalog.modules },
    moduleSettings: config.moduleSettings,
  });
  const chain = new HistoryChain(store, replica, (err) => deps.logger.error({ err }, 'failed to link the history'));
  await chain.prepare();
  const ports: OperationPorts = {
    documents,
    changesets: {
      run: (request, schema) => changesets.run(request, schema),
      claims: (owner, principal) => changesets.claims(owner, principal),
    },
    changes: new Changes(context, store.history, chain),
    search: new Search(catalog, replica, renderer, store.logins),
    problems: openProblems({
      ...{ replica, config, clock, hostCertificates, store, learningClient, problems: deps.problems },
      modules: catalog.modules,
      kindOfId: catalog.kindOfId,
      addressLists: deps.addressLists ?? NO_LISTS,
      isAddressAllowed: deps.isAddressAllowed,
      isOwnApi: deps.isOwnApi,
      whyForbidden: deps.whyForbidden,
      nodes: () => ports.nodes(),
      peers: () => peersOf(deps.nodes),
      online: { list: (kind, query) => ports.online.list(kind, query) },
      ref: (id, parentId) => renderer.ref(id, parentId),
    }),
    store,
    clock,
    learningClient,
    modules: catalog.modules,
    online: deps.online ?? onlineInStore(store, clock),
    sessionCommands: deps.sessionCommands ?? { send: () => Promise.resolve('unreachable') },
    nodes: () => deps.nodes?.membership.nodes() ?? [],
    requests: deps.requests ?? NO_REQUESTS,
    traffic: deps.traffic?.series ?? NO_TRAFFIC,
    settings: () => deps.settings ?? [],
    targetTester: new TargetTester({
      clock,
      connectTimeoutMs: config.upstream_connect_timeout * 1000,
      isAddressAllowed: deps.isBackendAllowed,
    }),
    addressLists: deps.addressLists ?? NO_LISTS,
    explain: deps.explain ?? (() => Promise.reject(new Error('no requests are served here'))),
    get destinationTester() {
      return deps.destinationTester?.() ?? null;
    },
    eventTypes: catalog.eventTypes,
    hostCertificates,
    region: config.region,
    loginLimits: loginLimits(replica, catalog.modules, config),
    newId,
    uri: (path) => renderer.uri(path),
    ref: (id, parentId) => renderer.ref(id, parentId),
    liveEvent: (type, object, apiKeyId) =>
      liveEvent(type, object, apiKeyId, { ...ports, accountId: store.accountId, isWanted }),
    people: { identity: settings.identity, newToken },
  };
  const { identity } = settings;
  const people =
    identity === null
      ? null
      : new People({
          ...{ store, replica, clock, newId, address: identity },
          mail: (mail) => identity.mail(mail),
          passkeyEvent: (type, record) => ports.liveEvent(type, () => renderPasskey(record, ports), ''),
          consoleScopesOf,
          coversScopes,
          signOut: (person) => signOutOneself(person, { issuer: identity.issuer, operations, ports }),
        });
  const others = othersWrites(store, replica, deps.nodes?.news ?? null);
  const localRole = config.local_commands;
  const localScopes = isRole(localRole) ? scopesOfRole(localRole, catalog.scopes) : null;
  const local = new LocalCallers({ clock, node: nodeName(config), scopes: localScopes });
  const findCaller = (token: string): Principal | null => keys.find(token) ?? local.find(token);
  const webConsole = openConsole({
    ...{ store, replica, clock, newId, logger: deps.logger, version: programVersion(), scopes: catalog.scopes },
    own: { baseUrl, isTls: config.api_tls_cert !== null },
    idleSeconds: config.console_session_idle,
    lifetimeSeconds: config.console_session_lifetime,
    live: deps.traffic?.live((request) => withRefs(request, ports.ref)) ?? null,
    findKey: findCaller,
    localScopes,
    searchedWords: (text, principal) => ports.search.callers(text, { principal }),
    isCurrent: () => others.isCurrent,
    identityIssuer: identity?.issuer ?? null,
    people: consolePeople(config, { clock, logger: deps.logger, ownIssuer: deps.ownIssuer }),
  });
  // They would never end by themselves.
  deps.health.onDraining(() => webConsole.endStreams());
  const storeSince = followStoreState(store, clock);
  const operations = operationsOf(catalog, documents);
  const changesets = new Changesets(context, new WriteOperations(operations));
  const keys = new KeyDirectory(replica);
  const credentials = credentialDirectory(replica, others);
  const administratorLink = async (): Promise<string | null> => {
    if (people === null || identity === null) return null;
    const invite = operations.find(({ resource, verb }) => resource === 'user_accounts' && verb === 'invite');
    if (invite === undefined) throw new Error('people cannot be invited');
    return firstAdministratorLink({ config, context, people, identity, ports, invite });
  };
  const reverter = new PendingReverter(context, replica, store.history, {
    reverted: (revision, by) =>
      deps.logger.warn({ revision, reverted_by: by }, 'reverted a change that nobody confirmed'),
    failed: (revision, err) => deps.logger.error({ err, revision }, 'failed to revert a change that nobody confirmed'),
    gaveUp: (revision, reason) =>
      deps.logger.error({ revision, reason }, 'gave up reverting a change that nobody confirmed: it stays, check it'),
  });
  addStoreMetrics(registry, store, replica);
  addProblemMetrics(registry, deps.problems);

  const documentation = new Documentation(operations, {
    catalog,
    errorRows: allErrorRows(),
    version: programVersion(),
    serverUrl: baseUrl,
  });
  const api = await createApi({
    operations,
    ports,
    findPrincipal: findCaller,
    // A preset one may have any form.
    kindOfToken: (token) => (credentials.find(token) === null ? null : 'the token of an agent'),
    others,
    areKeysKnown: () => deps.health.state !== 'starting',
    clock,
    logger: deps.logger,
    requestLogger: deps.requestLogger,
    metrics: new ApiMetrics(registry),
    pages: {
      health: () => healthPage(deps.health, store.health()),
      verboseHealth: (showsPeers) =>
        verboseHealth(healthPage(deps.health, store.health()), storeSince(), showsPeers ? peersOf(deps.nodes) : null),
      openApi: () => documentation.openApi,
      docs: () => documentation.docs,
      metrics: async () => ({
        contentType: registry.contentType,
        text: await (deps.metrics?.() ?? registry.metrics()),
      }),
      areMetricsOpen: config.api_metrics_open,
      startPath: '/console',
    },
    extensions: [webConsole.extension],
    findSession: (attempt) => webConsole.findSession(attempt),
    rateLimitPerSecond: config.api_rate_limit,
    corsOrigins: config.api_cors_origins,
  });
  return {
    handle: api.handle,
    protocolErrors: api.protocolErrors,
    bootstrapPort: bootstrapPort(context, replica, administratorLink),
    administratorLink,
    localToken: () => local.issue(),
    people,
    readLive: async (resource, id) => {
      const read = operations.find((operation) => operation.resource === resource && operation.verb === 'get');
      if (read === undefined) throw new Error(`there is no ${resource} to read`);
      try {
        return (
          await read.run({ ...OPERATOR_REQUEST, operationId: `${resource}.get`, params: { id }, body: {} }, ports)
        ).body;
      } catch (error) {
        if (error instanceof PosternError && error.code === 'ERR_POSTERN_NOT_FOUND') return null;
        throw error;
      }
    },
    operatorCall: operatorCall(operations, ports),
    suspendDestination: async (id) => {
      const request = { ...OPERATOR_REQUEST, body: {} };
      await documents.update('event_destination', id, request, () => ({ derived: { status: 'suspended' } }));
    },
    renewCertificate: async (id, { certificatePem: certificate_pem, privateKeyPem: private_key_pem }) => {
      const request = { ...OPERATOR_REQUEST, body: {} };
      await documents.update('tls_certificate', id, request, (config) => ({
        config: { ...config, certificate_pem, private_key_pem },
      }));
    },
    invitations,
    certificateEvent: (type, record) =>
      certificateEvent(type, record, { ...ports, accountId: store.accountId, isWanted }),
    close: async () => {
      webConsole.close();
      people?.close();
      invitations.close();
      await api.close();
      await reverter.close();
      await chain.close();
    },
  };
}

const NO_TRAFFIC: OperationPorts['traffic'] = {
  points: async () => ({ points: [], nodes: [] }),
  routes: async () => ({ routes: [], nodes: [] }),
};

const NO_LISTS: OperationPorts['addressLists'] = {
  state: () => ({
    ...{ status: 'missing', entries: 0, skippedLines: 0, loadedAtMs: null, checkedAtMs: null },
    error: 'lists are not loaded here',
  }),
  refresh: () => Promise.resolve(),
};

const NO_REQUESTS: OperationPorts['requests'] = {
  find: async () => ({ requests: [], nodes: [] }),
  list: async () => ({ requests: [], nodes: [] }),
};

function resourceSettings(
  config: Config,
  catalog: Catalog,
  tunnelNamesUnder: ResourceSettings['tunnelNamesUnder'],
): Omit<ResourceSettings, 'identity' | 'consoleScopesOf' | 'inviteAgent'> {
  const listening = config.edge_listen.map(({ port }) => port);
  return {
    // Port 0 means "any free one": only the edge will know which.
    edgePorts: listening.includes(0) ? null : publicPorts({ listening, mapped: config.edge_host_ports }),
    tunnelNamesUnder,
    certificateFileDirs: config.certificate_file_dirs,
    region: config.region,
    domain: config.domain,
    moduleSettings: config.moduleSettings,
    scopes: catalog.scopes,
    eventTypes: catalog.eventTypes.map((each) => each.type),
  };
}

function identityFacts(config: Config, mail: MailQueue | null): IdentityFacts | null {
  const address = identityAddress(config.identity_host);
  if (address === null) return null;
  const invitationMs = config.identity_invitation_hours * 3_600_000;
  return { ...address, invitationMs, mail: (message) => mail?.put(message) ?? null };
}

function followStoreState(store: Store, clock: Clock): () => StoreSince {
  let current: StoreSince = { status: store.health().state, sinceMs: clock.nowMs() };
  store.onHealth(({ state }) => {
    if (state !== current.status) current = { status: state, sinceMs: clock.nowMs() };
  });
  return () => current;
}

function peersOf(nodes: ApiDependencies['nodes']): readonly PeerHealth[] {
  if (nodes === undefined) return [];
  const { membership, links } = nodes;
  return membership
    .nodes()
    .filter(({ id }) => id !== membership.self.id)
    .map(({ id, name, status }) => {
      if (links?.get(id) !== undefined) return { name, status: 'linked' };
      return { name, status: status === 'lost' ? 'lost' : 'unreachable' };
    });
}
