import { randomBytes } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import type { Catalog } from '../../../control/documents/catalog.ts';
import type { Clock } from '../../../kit/clock.ts';
import {
  closing,
  ignoreErrors,
  type ListenerOwner,
  listen,
  listenPer,
  reporting,
} from '../../../kit/guarded-listeners.ts';
import type { WholeAnswer, WholeRequest } from '../../../kit/http/whole-request.ts';
import { LruMap } from '../../../kit/lru-map.ts';
import type { ListenAddress, ListenAddresses } from '../../../kit/net/listen-address.ts';
import { SharedTally } from '../../../kit/process/shared-memory.ts';
import { createKsuidSource } from '../../../kit/text/ksuid.ts';
import type { ConfiguredBy } from '../../../modules/contract/agent-form.ts';
import type { ModuleNetwork } from '../../../modules/contract/keeps-state.ts';
import type { LoginRecords } from '../../../modules/contract/login-store.ts';
import { issuerPorts } from '../../../modules/login/issuer-problem.ts';
import { login } from '../../../modules/login/login.ts';
import {
  answerAboutIssuer,
  fetchedIssuers,
  type IssuerSources,
  keptIssuers,
} from '../../../modules/login/provider/providers.ts';
import { settingsOf } from '../../../modules/module-settings.ts';
import type { EdgeListener, EdgeListenerOptions } from '../../../proxy/edge/listeners/edge-listener.ts';
import type { PublicPorts } from '../../../proxy/edge/tunnels/endpoint-publisher.ts';
import { createTunnelTraffic } from '../../../proxy/edge/tunnels/tunnel-traffic.ts';
import type { InternalCa, Leaf, LeafRequest } from '../../../proxy/pki/internal-ca.ts';
import type { OwnHost } from '../../../proxy/snapshot/edge-snapshot.ts';
import { newProblems } from '../../../proxy/snapshot/problems.ts';
import { Snapshots } from '../../../proxy/snapshot/snapshots.ts';
import { EdgeMetrics } from '../../../proxy/telemetry/metrics/edge-metrics.ts';
import { upstreamGuard } from '../../../proxy/upstream/upstream-guard.ts';
import { readKeys } from '../../../store/keyring.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import type { StoredRecord } from '../../../store/store.ts';
import type { DirectoryListener } from '../../../tunnel/nodes/directory/tunnel-directory.ts';
import type { Config } from '../../settings/schema.ts';
import { edgeSettings, followLists } from '../data-plane/assemble-edge.ts';
import { moduleNetwork, releaseNodeMemories } from '../data-plane/module-runtimes.ts';
import { type EdgeDependencies, type OpenedEdge, openersOf, StartGate, tunnelSocketsOf } from '../edge.ts';
import { Board, newBoard, newClockOffset, publishOffset } from './board.ts';
import { EdgeWorkers } from './edge-workers.ts';
import { LinkedWorkers } from './linked-workers.ts';
import { WorkerAgents } from './worker-agents.ts';
import { WorkerEndpoints } from './worker-endpoints.ts';
import { attemptsOfWorker, type EdgeListenerName } from './worker-protocol.ts';

interface WorkersDependencies extends EdgeDependencies {
  readonly replica: Replica;
  readonly catalog: Catalog;
  readonly node: string;
  readonly secretKeyId: () => string;
  /** How long the right to serve names of agents certainly lasts. */
  readonly rightLeftMs: () => number;
  /** Lines of workers. */
  readonly writeLog: (text: string) => void;
}

export interface OpenedWorkers extends OpenedEdge {
  readonly workers: EdgeWorkers;
  /** Hears of tunnels that come and go. */
  readonly onlineTunnels: DirectoryListener;
  /** The connections of agents. */
  readonly agents: WorkerAgents;
  /** After `drain`, and after the gateway's. */
  close(): Promise<void>;
}

const PUBLISH_EVERY_MS = 50;

/** The data plane in threads of its own. This thread accepts connections, and hands them on unread. */
export async function openEdgeInWorkers(deps: WorkersDependencies, count: number): Promise<OpenedWorkers> {
  const { config, replica, clock, logger, logins, others, own } = deps;
  await using opening = new AsyncDisposableStack();
  const board = newBoard();
  const published = new Board(board);
  const clockOffset = clock.sharedOffset ?? newClockOffset();
  // Once: a file that changes later must not keep a new worker from starting.
  const secretKeys = readKeys({ dataDir: config.data_dir, configured: config.secret_key }) ?? [];
  let keyId = deps.secretKeyId();
  const publish = (): void => {
    if (keyId !== deps.secretKeyId()) {
      keyId = deps.secretKeyId();
      workers.tell('useSecretKey', keyId);
    }
    if (clock.sharedOffset === undefined) publishOffset(clock, clockOffset);
    published.publish({
      rightLeftMs: deps.rightLeftMs(),
      isCurrent: others.isCurrent,
      isUnsettled: deps.tunnels.isUnsettled === true,
    });
  };
  publish();
  const publishing = setInterval(publish, PUBLISH_EVERY_MS).unref();
  opening.defer(() => clearInterval(publishing));
  const leaves = new LeavesOnce(await deps.internalCa(), clock);
  const links = new LinkedWorkers(deps.tunnels, (why) => logger.warn({ why }, 'a worker broke the rules of its link'));
  opening.defer(() => links.close());
  const publicPorts: PublicPorts = () => ({ https: https.addresses[0].port, http: http.addresses[0].port });
  const isAddressAllowed = upstreamGuard(config.upstream_allow_cidrs, own);
  const issuers = issuersOf(config, isAddressAllowed, clock);
  const tallies = {
    requests: SharedTally.memory(count),
    streams: SharedTally.memory(count),
    connections: SharedTally.memory(count),
    handshakes: SharedTally.memory(count),
    plainConnections: SharedTally.memory(count),
  };
  const tunnelStreams = SharedTally.memory(count);
  const connections = new SharedArrayBuffer(2 * count * Int32Array.BYTES_PER_ELEMENT);
  const ticketSecret = deps.ticketSecret === undefined ? randomBytes(32) : null;
  const agents = new WorkerAgents(count, () => workers);
  const workers: EdgeWorkers = new EdgeWorkers(
    {
      count,
      startOf: (index) => ({
        config,
        kindsByPrefix: deps.catalog.kindsByPrefix,
        node: deps.node,
        isLogForTerminal: deps.requestLogger.isForTerminal === true,
        index,
        count,
        publicPorts: publicPorts(),
        own: own.list(),
        ticketSecret,
        secretKeys,
        secretKeyId: deps.secretKeyId(),
        board,
        clockOffset,
        addressLists: deps.addressLists.all(),
        tallies,
        tunnelStreams,
        nodeMemories: deps.nodeMemories,
        connections,
      }),
      release: (index) => {
        for (const tally of [...Object.values(tallies), tunnelStreams]) SharedTally.clear(tally, index);
        releaseNodeMemories(deps.catalog.modules, deps.nodeMemories, index);
        agents.ended(index);
      },
      methods: (index) => ({
        ...agents.reportsOf(index),
        ...attemptsOfWorker(deps.attempts),
        commit: (writeSet) => deps.store.commit(writeSet),
        refresh: () => replica.refresh(),
        catchUp: async () => {
          await others.catchUp();
          await workers.settled();
          publish();
        },
        moduleEvent: (type, object) => deps.traffic.moduleEvent(type, object),
        login: (method, args) => (logins[method] as (...args: readonly unknown[]) => Promise<unknown>)(...args),
        keyReplaced: (key) => workers.tell('keyReplaced', key),
        seenLogins: (question) => workers.seenLogins(question),
        askIssuer: (question) => answerAboutIssuer(issuers, question),
        mintLeaf: (request) => leaves.get(request),
        finished: (requests) => {
          for (const facts of requests) deps.traffic.requestComplete(facts);
        },
        connectionClosed: (id, facts) => deps.traffic.connectionClosed(id, facts),
        backends: (counts) => deps.backendTraffic.add(counts),
        serveOwnHost: (request) => serveOwnHost(deps.ownHost, request),
        watched: (requests) => {
          for (const request of requests) deps.history.tell(request);
        },
      }),
      writeLog: deps.writeLog,
      records: () => recordsOf(replica),
      link: (index) => links.link(index),
      introduce: async (worker) => {
        await endpoints.introduce(worker);
        await agents.introduce(worker);
      },
      onReady: () => agents.ready(),
      leave: () => agents.leave(),
      log: logger,
    },
    connections,
  );
  const snapshots = await Snapshots.open(replica, {
    modules: deps.catalog.modules,
    kindOfId: deps.catalog.kindOfId,
    moduleSettings: config.moduleSettings,
    addressLists: deps.addressLists,
  });
  opening.defer(() => snapshots.close());
  opening.defer(followLists(deps.addressLists, replica, snapshots));
  opening.defer(deps.addressLists.onNews((news) => workers.tell('addressList', news)));
  opening.defer(deps.addressLists.onForget((id) => workers.tell('forgetAddressList', id)));
  if (deps.ownHost !== null) snapshots.serveOwnHost(deps.ownHost);
  snapshots.onSwap((edgeId, now, before) => {
    workers.forgetMetrics(edgeId, new Set(Array.from(now?.routes.all ?? [], ({ id }) => id)));
    for (const problem of newProblems(now, before))
      logger.warn({ edge: edgeId, ...problem }, 'a route rejects all traffic');
  });
  const metrics = new EdgeMetrics(deps.registry, { requests: () => 0, streams: () => 0, connections: () => 0 });
  const ksuid = createKsuidSource();
  // Ports of tcp tunnels stay in this thread, which reaches agents through the workers that have their connections.
  const tunnels = createTunnelTraffic({
    tunnels: {
      online: deps.tunnels,
      mayServe: deps.mayServeNames,
      inheritedPort: (port) => deps.sockets.takePort(port),
      onConnectionClosed: (facts) => {
        if (deps.traffic.wantsConnections()) deps.traffic.connectionClosed(`cn_${ksuid(clock.nowMs())}`, facts);
      },
      endpoints: {
        modules: deps.catalog.modules,
        moduleSettings: config.moduleSettings,
        agentNetwork: { isAddressAllowed },
        tcpPorts: config.tcp_ports,
        domain: config.domain,
      },
    },
    publicPorts,
    snapshots,
    settings: edgeSettings(config),
    clock,
    random: Math.random,
    metrics,
    clients: deps.clientsOf('tcp'),
    onProblem: (err) => logger.error({ err }, 'failed to accept a connection'),
  });
  own.setTunnelPorts(tunnels.ports);
  const endpoints = new WorkerEndpoints(tunnels.endpoints, workers, {
    onPorts: () => workers.tell('ownAddresses', own.list()),
    // Those who ask for the tunnel may have to wait for another node to announce it.
    onUnlisted: publish,
  });
  for (const stop of [replica.onChange((changes) => workers.show(changes)), ...followLogins(logins, workers)])
    opening.defer(stop);
  deps.history.onFollowed((isFollowed) => workers.watch(isFollowed));
  const gate = new StartGate();
  const onProblem = (err: Error): void => logger.error({ err }, 'failed to accept a connection');
  const hand =
    (listener: EdgeListenerName) =>
    (socket: Socket): void =>
      gate.pass(socket, () => workers.accept(listener, socket));
  const https = await openHandingListener({ open: openersOf(deps, 'edge_listen'), onSocket: hand('https'), onProblem });
  opening.defer(() => https.close());
  const httpOpeners = openersOf(deps, 'edge_http_listen');
  const http = await openHandingListener({ open: httpOpeners, onSocket: hand('http'), onProblem });
  opening.defer(() => http.close());
  opening.defer(() => gate.close());
  await workers.open();
  opening.defer(() => workers.close());
  const opened = opening.move();
  let drained: Promise<void> | null = null;
  const drain: OpenedWorkers['drain'] = async (timeoutMs, how) => {
    gate.close();
    const closed = [https.close(), http.close()];
    const endsAtMs = performance.now() + timeoutMs;
    tunnels.startDraining();
    await Promise.all([workers.drain(timeoutMs, how), tunnels.drain(() => Math.max(0, endsAtMs - performance.now()))]);
    await Promise.all(closed);
  };
  return {
    https: https.addresses,
    http: http.addresses,
    snapshots,
    workers,
    endpoints,
    onlineTunnels: endpoints,
    agents,
    tunnelSockets: () => tunnelSocketsOf(tunnels.ports),
    admit: () => {
      workers.tell('ownAddresses', own.list());
      gate.open();
    },
    isPassthrough: (host) => tunnels.passthroughFor(host) !== undefined,
    drain: (timeoutMs, how) => {
      drained ??= drain(timeoutMs, how);
      return drained;
    },
    close: () => opened.disposeAsync(),
  };
}

/** Bytes lose their type on the way between threads. */
async function serveOwnHost(host: OwnHost | null, request: WholeRequest): Promise<WholeAnswer> {
  if (host === null) throw new Error('there is no identity host');
  return host.serve({ ...request, body: Buffer.from(request.body) });
}

function* recordsOf(replica: Replica): Iterable<StoredRecord> {
  for (const kind of replica.kinds()) yield* replica.all(kind);
}

/** What issuers publish, fetched once for all workers. */
function issuersOf(
  config: Config,
  isAddressAllowed: ModuleNetwork['isAddressAllowed'],
  clock: Clock,
): Readonly<Record<ConfiguredBy, IssuerSources>> {
  const ports = issuerPorts(settingsOf(config.moduleSettings, login), moduleNetwork(isAddressAllowed), clock);
  return { operator: keptIssuers(fetchedIssuers(ports.operator)), agent: keptIssuers(fetchedIssuers(ports.agent)) };
}

function followLogins(logins: LoginRecords, workers: EdgeWorkers): readonly (() => void)[] {
  return [
    logins.onChanged((changes) => workers.tell('loginsChanged', changes)),
    logins.onForeignChange(() => workers.tell('loginsForeign')),
    // One that does not answer is replaced by one that starts with the new state.
    logins.onReset(() => workers.callAll('loginsReset')),
  ];
}

interface HandingListenerOptions extends Pick<EdgeListenerOptions, 'open' | 'onProblem'> {
  readonly onSocket: (socket: Socket) => void;
}

/** Accepts connections for other threads. Nothing is read from them: a socket that was read from stays in its thread. */
async function openHandingListener({
  open,
  onSocket,
  onProblem,
}: HandingListenerOptions): Promise<Pick<EdgeListener, 'addresses'> & { close(): Promise<void> }> {
  const servers: Server[] = [];
  const addresses: ListenAddress[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  };
  try {
    for (const openServer of open) {
      const server = createServer({ noDelay: true, pauseOnConnect: true });
      const ownerOf = (socket: Socket): ListenerOwner => closing(socket, 'edge listener');
      listenPer(server, 'connection', ownerOf, (socket: Socket) => onSocket(ignoreErrors(socket)));
      addresses.push(await openServer(server));
      servers.push(server);
      listen(server, 'error', reporting('edge listener'), (error: Error) => onProblem(error));
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { addresses: addresses as readonly ListenAddress[] as ListenAddresses, close };
}

const MAX_LEAVES = 10_000;
/** A worker asks for the next one this long before the end: it must not get the same again. */
const RENEW_BEFORE_MS = 31 * 24 * 60 * 60 * 1000;

/** Leaves of the internal CA, the same for all workers. */
class LeavesOnce {
  readonly #ca: Pick<InternalCa, 'mintLeaf'>;
  readonly #clock: Clock;
  readonly #leaves = new LruMap<string, Promise<Leaf>>(MAX_LEAVES);

  constructor(ca: Pick<InternalCa, 'mintLeaf'>, clock: Clock) {
    this.#ca = ca;
    this.#clock = clock;
  }

  async get(request: LeafRequest): Promise<Leaf> {
    const key = JSON.stringify(request);
    const known = this.#leaves.get(key);
    const leaf = await known?.catch(() => undefined);
    if (leaf !== undefined && leaf.notAfterMs - this.#clock.nowMs() > RENEW_BEFORE_MS) return leaf;
    // Another worker may have asked in the meantime.
    const current = this.#leaves.get(key);
    if (current !== undefined && current !== known) return current;
    const minted = this.#ca.mintLeaf(request);
    this.#leaves.set(key, minted);
    return minted;
  }
}
