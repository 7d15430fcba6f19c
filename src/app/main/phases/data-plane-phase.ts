import { loadPart } from '../../../kit/load-part.ts';
import type { OwnHost } from '../../../proxy/snapshot/edge-snapshot.ts';
import { Snapshots } from '../../../proxy/snapshot/snapshots.ts';
import { BackendTraffic } from '../../../proxy/telemetry/metrics/backend-traffic.ts';
import { agentEvents } from '../../../tunnel/gateway/agent-events.ts';
import { type OpenedAcme, openAcme } from '../certificates/acme.ts';
import { type OpenedGateway, openGateway } from '../cluster/gateway.ts';
import { followLists, proxiedClients } from '../data-plane/data-plane.ts';
import { MAIN_THREAD } from '../data-plane/module-runtimes.ts';
import { type EdgeDependencies, type OpenedEdge, openEdge } from '../edge.ts';
import { loginBudgets } from '../people/logins.ts';
import { type OpenedWorkers, openEdgeInWorkers } from '../workers/open-edge-in-workers.ts';
import type { ControlPlaneOpened } from './control-plane-phase.ts';

interface EdgeOpened extends ControlPlaneOpened {
  /** Null: this process serves no visitors. */
  readonly edge: OpenedEdge | null;
  /** Null: the server's own thread serves them. */
  readonly threads: OpenedWorkers | null;
  readonly backendTraffic: BackendTraffic;
  readonly clientsOf: EdgeDependencies['clientsOf'];
}

export interface DataPlaneOpened extends EdgeOpened {
  /** Null: this process accepts no agents. */
  readonly gateway: OpenedGateway | null;
  readonly acme: OpenedAcme | null;
}

/** Listeners for visitors and agents, and the snapshots from which they are served. */
export async function openDataPlane(
  earlier: ControlPlaneOpened,
  opened: AsyncDisposableStack,
): Promise<DataPlaneOpened> {
  const { late, own } = earlier;
  const withEdge = await openServerEdge(earlier, opened);
  const { edge } = withEdge;
  const gateway = await openServerGateway(withEdge);
  late.gateway.open(gateway);
  if (gateway !== null) own.addControl(gateway.address);
  opened.defer(() => gateway?.drain(0));

  // After the listeners, which answer the challenges.
  const acme = edge === null ? null : openServerAcme(earlier);
  opened.defer(() => acme?.close());

  const snapshots = edge?.snapshots ?? (await snapshotsWithoutEdge(earlier));
  opened.defer(() => snapshots.close());
  if (edge === null) opened.defer(followLists(earlier.lists.known, earlier.replica, snapshots));
  earlier.problems.follow(snapshots);
  late.snapshots.open(snapshots);
  earlier.identity?.follow(snapshots);
  earlier.explainer.follow(snapshots, edge?.isPassthrough);
  return { ...withEdge, gateway, acme };
}

async function openServerEdge(earlier: ControlPlaneOpened, opened: AsyncDisposableStack): Promise<EdgeOpened> {
  const { config, log, own, directory, late, workerCount } = earlier;
  const parts = await edgeParts(earlier);
  const threads = workerCount > 1 ? await openThreads(earlier, parts) : null;
  const workers = threads?.workers ?? null;
  late.workers.open(workers);
  log.beforeFlush(() => workers?.flushLogs());
  // After the gateway's end: workers have the connections of agents.
  opened.defer(() => threads?.close());
  if (threads !== null) directory.directory.follow(threads.onlineTunnels);
  const edge = config.roles.includes('edge') ? (threads ?? (await openEdge(parts))) : null;
  opened.defer(() => edge?.drain(0));
  if (edge !== null) own.addEdge(...edge.https, ...edge.http);
  const { backendTraffic, clientsOf } = parts;
  return { ...earlier, edge, threads, backendTraffic, clientsOf };
}

async function edgeParts(earlier: ControlPlaneOpened): Promise<EdgeDependencies> {
  const { config, store, clock, membership, directory, logins, lists, recorded, recording } = earlier;
  const backendTraffic = new BackendTraffic();
  const ownHost = await openOwnHost(earlier);
  return {
    ...earlier,
    ownHost,
    clientsOf: proxiedClients(earlier),
    attempts: loginBudgets(config, logins, clock),
    // One server alone keeps its keys in memory: who reads the database later can decrypt no recorded session.
    ticketSecret: store.engine === 'sqlite' ? undefined : (text) => Buffer.from(store.mac('tls-ticket', text), 'hex'),
    traffic: recording.traffic,
    backendTraffic,
    history: recorded.history,
    tunnels: directory.tunnels,
    mayServeNames: () => membership.mayServe(),
    thread: MAIN_THREAD,
    addressLists: lists.known,
  };
}

/** Null: Postern's own OpenID provider is off. */
async function openOwnHost(earlier: ControlPlaneOpened): Promise<OwnHost | null> {
  const { config, options, identity, api, mail, baseUrl } = earlier;
  if (identity === null || api.people === null) return null;
  const { sessions, address } = identity;
  const replaced = options.identityPages?.(sessions);
  if (replaced !== undefined) return identity.hostWith(replaced);
  const { openIdentityPages } = await loadPart(() => import('../people/identity-pages.ts'));
  return identity.hostWith(
    openIdentityPages({
      ...{ ...earlier, address, sessions, people: api.people },
      consoleUrl: config.console_oidc_issuer === null ? `${baseUrl}/console/` : null,
      codesBy: config.identity_email_codes ? mail : null,
    }),
  );
}

function openThreads(earlier: ControlPlaneOpened, parts: EdgeDependencies): Promise<OpenedWorkers> {
  const { replica, catalog, store, membership, log, workerCount } = earlier;
  return openEdgeInWorkers(
    {
      ...parts,
      replica,
      catalog,
      node: membership.self.name,
      secretKeyId: () => store.secretKeyId,
      rightLeftMs: () => membership.rightLeftMs(),
      writeLog: (lines) => log.write(lines),
    },
    workerCount,
  );
}

/** Null: this process accepts no agents. */
async function openServerGateway(earlier: EdgeOpened): Promise<OpenedGateway | null> {
  const { config, store, logger, recording, api, edge, threads, directory, membership, links } = earlier;
  if (edge === null) return null;
  // A node without a gateway serves the agents of others too.
  const endpoints = directory.publishOn(edge.endpoints);
  if (!config.roles.includes('gateway')) return null;
  return openGateway({
    ...earlier,
    endpoints,
    events: agentEvents({
      recording,
      read: (resource, id) => api.readLive(resource, id),
      onProblem: (err) => logger.error({ err }, 'failed to record an agent event'),
    }),
    invitations: api.invitations,
    table: earlier.ownTunnelTable,
    clients: earlier.clientsOf('tunnel'),
    announcer: directory.announcer,
    ...(links !== null && { cluster: { membership, links, directory: directory.directory, store: store.nodes } }),
    workers: threads?.agents ?? null,
  });
}

function openServerAcme(earlier: ControlPlaneOpened): OpenedAcme {
  const { api, options } = earlier;
  return openAcme({
    ...earlier,
    certificateEvent: (type, record) => api.certificateEvent(type, record),
    resolveName: options.resolveName,
    dnsLookup: options.dnsLookup,
  });
}

/**
 * A process without an edge compiles the same snapshots, so that its API reports a write's effect on edges elsewhere.
 */
function snapshotsWithoutEdge({ replica, catalog, config, lists }: ControlPlaneOpened): Promise<Snapshots> {
  return Snapshots.open(replica, {
    modules: catalog.modules,
    kindOfId: catalog.kindOfId,
    moduleSettings: config.moduleSettings,
    addressLists: lists.known,
  });
}
