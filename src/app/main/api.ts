import { ApiMetrics } from '../../control/api/api-metrics.ts';
import type { LocalToken } from '../../control/api/authentication.ts';
import { createApi } from '../../control/api/create-api.ts';
import { Documentation } from '../../control/api/docs/documentation.ts';
import { healthPage, type StoreSince, verboseHealth } from '../../control/api/health.ts';
import type { PublicPages } from '../../control/api/public-routes.ts';
import type { ApiHandler } from '../../control/api/starting-api.ts';
import { type BootstrapPort, bootstrapPort, OPERATOR_REQUEST } from '../../control/bootstrap.ts';
import { PendingReverter } from '../../control/documents/confirmation/pending-reverter.ts';
import type { Documents } from '../../control/documents/documents.ts';
import type { DocumentsContext } from '../../control/documents/documents-context.ts';
import { HistoryChain } from '../../control/documents/history/history-chain.ts';
import type { OperationPorts } from '../../control/documents/operations.ts';
import type { People } from '../../control/identity/people.ts';
import { certificateEvent } from '../../control/resources/managed_certificates/managed-certificates.ts';
import type { FilePair } from '../../control/resources/tls_certificates/certificate-files.ts';
import type { Clock } from '../../kit/clock.ts';
import { PosternError } from '../../kit/errors.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { CertificateEventType } from '../../proxy/acme/orders/open-order.ts';
import { addProblemMetrics } from '../../proxy/snapshot/problems.ts';
import { addStoreMetrics } from '../../store/replica/store-metrics.ts';
import type { OutboxEvent, Store, StoredRecord } from '../../store/store.ts';
import type { Invitations } from '../../tunnel/gateway/ports.ts';
import { administratorLinks, type CallersOpened, openCallers } from './api-callers.ts';
import { type ApiDependencies, type DocumentsOpened, openDocuments } from './api-documents.ts';
import { operationPorts, peersOf } from './api-ports.ts';
import { allErrorRows } from './error-tables.ts';
import { type OperatorCall, operatorCall } from './sites.ts';
import { programVersion } from './version.ts';

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

/** Assembles the management API: its documents, what operations use, who may call them, and the server. */
export async function openApi(deps: ApiDependencies): Promise<OpenedApi> {
  const { store, replica, registry, logger } = deps;
  const opened = openDocuments(deps);
  const { context, documents, operations, invitations, isWanted } = opened;
  const chain = new HistoryChain(store, replica, (err) => logger.error({ err }, 'failed to link the history'));
  await chain.prepare();
  const ports = operationPorts(deps, opened, chain);
  opened.latePorts.open(ports);
  const callers = openCallers(deps, opened, ports);
  const { people, local, webConsole } = callers;
  const administratorLink = administratorLinks(deps, opened, people, ports);
  const pages = publicPages(deps, operations);
  const reverter = openReverter(deps, context);
  addStoreMetrics(registry, store, replica);
  addProblemMetrics(registry, deps.problems);
  const api = await serveOperations(deps, operations, { ports, callers, pages });
  return {
    handle: api.handle,
    protocolErrors: api.protocolErrors,
    bootstrapPort: bootstrapPort(context, replica, administratorLink),
    administratorLink,
    localToken: () => local.issue(),
    people,
    readLive: liveReader(operations, ports),
    operatorCall: operatorCall(operations, ports),
    ...operatorChanges(documents),
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

type Operations = DocumentsOpened['operations'];

interface ServedParts {
  readonly ports: OperationPorts;
  readonly callers: CallersOpened;
  readonly pages: PublicPages;
}

function serveOperations(deps: ApiDependencies, operations: Operations, { ports, callers, pages }: ServedParts) {
  const { config, registry, clock, logger, apiRequestLogger: requestLogger, health } = deps;
  const { others, webConsole, findCaller, kindOfToken } = callers;
  return createApi({
    ...{ operations, ports, findPrincipal: findCaller, kindOfToken, others, clock, logger, requestLogger, pages },
    areKeysKnown: () => health.state !== 'starting',
    metrics: new ApiMetrics(registry),
    extensions: [webConsole.extension],
    findSession: (attempt) => webConsole.findSession(attempt),
    rateLimitPerSecond: config.api_rate_limit,
    corsOrigins: config.api_cors_origins,
  });
}

/** Pages that need no API key. */
function publicPages(deps: ApiDependencies, operations: Operations): PublicPages {
  const { config, catalog, store, clock, health, registry, baseUrl } = deps;
  const storeSince = followStoreState(store, clock);
  const documentation = new Documentation(operations, {
    catalog,
    errorRows: allErrorRows(),
    version: programVersion(),
    serverUrl: baseUrl,
  });
  return {
    health: () => healthPage(health, store.health()),
    verboseHealth: (showsPeers) =>
      verboseHealth(healthPage(health, store.health()), storeSince(), showsPeers ? peersOf(deps.nodes) : null),
    openApi: () => documentation.openApi,
    docs: () => documentation.docs,
    metrics: async () => ({
      contentType: registry.contentType,
      text: await (deps.metrics?.() ?? registry.metrics()),
    }),
    areMetricsOpen: config.api_metrics_open,
    startPath: '/console',
  };
}

function openReverter({ replica, store, logger }: ApiDependencies, context: DocumentsContext): PendingReverter {
  return new PendingReverter(context, replica, store.history, {
    reverted: (revision, by) => logger.warn({ revision, reverted_by: by }, 'reverted a change that nobody confirmed'),
    failed: (revision, err) => logger.error({ err, revision }, 'failed to revert a change that nobody confirmed'),
    gaveUp: (revision, reason) =>
      logger.error({ revision, reason }, 'gave up reverting a change that nobody confirmed: it stays, check it'),
  });
}

function liveReader(operations: Operations, ports: OperationPorts): OpenedApi['readLive'] {
  return async (resource, id) => {
    const read = operations.find((operation) => operation.resource === resource && operation.verb === 'get');
    if (read === undefined) throw new Error(`there is no ${resource} to read`);
    const request = { ...OPERATOR_REQUEST, operationId: `${resource}.get`, params: { id }, body: {} };
    try {
      return (await read.run(request, ports)).body;
    } catch (error) {
      if (error instanceof PosternError && error.code === 'ERR_POSTERN_NOT_FOUND') return null;
      throw error;
    }
  };
}

/** Changes that the server makes by itself. */
function operatorChanges(documents: Documents): Pick<OpenedApi, 'suspendDestination' | 'renewCertificate'> {
  return {
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
  };
}

function followStoreState(store: Store, clock: Clock): () => StoreSince {
  let current: StoreSince = { status: store.health().state, sinceMs: clock.nowMs() };
  store.onHealth(({ state }) => {
    if (state !== current.status) current = { status: state, sinceMs: clock.nowMs() };
  });
  return () => current;
}
