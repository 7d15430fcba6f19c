import { randomBytes } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import {
  closing,
  ignoreErrors,
  type ListenerOwner,
  listen,
  listenPer,
  reporting,
} from '../../../kit/guarded-listeners.ts';
import { LatePart } from '../../../kit/late-part.ts';
import type { ListenAddress, ListenAddresses } from '../../../kit/net/listen-address.ts';
import type { LoginRecords } from '../../../modules/contract/login-store.ts';
import type { EdgeListener, EdgeListenerOptions } from '../../../proxy/edge/listeners/edge-listener.ts';
import type { PublicPorts } from '../../../proxy/edge/tunnels/endpoint-publisher.ts';
import { readKeys } from '../../../store/keyring.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import type { StoredRecord } from '../../../store/store.ts';
import type { DirectoryListener } from '../../../tunnel/nodes/directory/tunnel-directory.ts';
import { type OpenedEdge, openersOf, portsOf, StartGate, tunnelSocketsOf } from '../edge.ts';
import { EdgeWorkers } from './edge-workers.ts';
import { LinkedWorkers } from './linked-workers.ts';
import { mainMethods } from './main-methods.ts';
import { type MainThreadTunnels, openMainThreadTunnels } from './main-thread-tunnels.ts';
import { WorkerAgents } from './worker-agents.ts';
import type { EdgeListenerName } from './worker-protocol.ts';
import type { StartedWith } from './worker-thread.ts';
import {
  newWorkersMemory,
  type PublishedStatus,
  publishStatus,
  releaseWorkersMemory,
  type WorkersDependencies,
  type WorkersMemory,
} from './workers-memory.ts';

export interface OpenedWorkers extends OpenedEdge {
  readonly workers: EdgeWorkers;
  /** Hears of tunnels that come and go. */
  readonly onlineTunnels: DirectoryListener;
  /** The connections of agents. */
  readonly agents: WorkerAgents;
  /** After `drain`, and after the gateway's. */
  close(): Promise<void>;
}

/** The data plane in threads of its own. This thread accepts connections, and hands them on unread. */
export async function openEdgeInWorkers(deps: WorkersDependencies, count: number): Promise<OpenedWorkers> {
  const { logger, own } = deps;
  await using opening = new AsyncDisposableStack();
  const lateWorkers = new LatePart<EdgeWorkers>('the workers');
  const lateListeners = new LatePart<Listeners>('the listeners of the edge');
  const status = opening.adopt(publishStatus(deps, lateWorkers), (it) => it.close());
  const agents = new WorkerAgents(count, () => lateWorkers.get());
  const methods = await mainMethods(deps, { workers: lateWorkers, agents, status });
  const links = new LinkedWorkers(deps.tunnels, (why) => logger.warn({ why }, 'a worker broke the rules of its link'));
  opening.defer(() => links.close());
  const publicPorts: PublicPorts = () => portsOf(lateListeners.get());
  const served = await openMainThreadTunnels(deps, { workers: lateWorkers, status, publicPorts }, opening);
  const { snapshots, tunnels, endpoints } = served;
  const memory = newWorkersMemory(deps, count);
  const workers = new EdgeWorkers(
    {
      count,
      startOf: startOf(deps, { count, memory, status, publicPorts }),
      release: (index) => {
        releaseWorkersMemory(memory, deps.catalog.modules, index);
        agents.ended(index);
      },
      methods,
      writeLog: deps.writeLog,
      records: () => recordsOf(deps.replica),
      link: (index) => links.link(index),
      introduce: async (worker) => {
        await endpoints.introduce(worker);
        await agents.introduce(worker);
      },
      onReady: () => agents.ready(),
      leave: () => agents.leave(),
      log: logger,
    },
    memory.connections,
  );
  lateWorkers.open(workers);
  followForWorkers(deps, workers, opening);
  const gate = new StartGate();
  const listeners = await openListeners(deps, { workers, gate }, opening);
  lateListeners.open(listeners);
  await workers.open();
  opening.defer(() => workers.close());
  const opened = opening.move();
  return {
    https: listeners.https.addresses,
    http: listeners.http.addresses,
    ...{ snapshots, workers, endpoints, onlineTunnels: endpoints, agents },
    tunnelSockets: () => tunnelSocketsOf(tunnels.ports),
    admit: () => {
      workers.tell('ownAddresses', own.list());
      gate.open();
    },
    isPassthrough: (host) => tunnels.passthroughFor(host) !== undefined,
    drain: drainOnce({ gate, listeners, tunnels, workers }),
    close: () => opened.disposeAsync(),
  };
}

interface StartParts {
  readonly count: number;
  readonly memory: WorkersMemory;
  readonly status: PublishedStatus;
  readonly publicPorts: PublicPorts;
}

/** What the next worker knows when it starts. */
function startOf(
  deps: WorkersDependencies,
  { count, memory, status, publicPorts }: StartParts,
): (index: number) => StartedWith {
  const { config, catalog, node, own } = deps;
  // Once: a file that changes later must not keep a new worker from starting.
  const secretKeys = readKeys({ dataDir: config.data_dir, configured: config.secret_key }) ?? [];
  const ticketSecret = deps.ticketSecret === undefined ? randomBytes(32) : null;
  return (index) => ({
    ...{ config, node, index, count, ticketSecret, secretKeys },
    ...memory,
    kindsByPrefix: catalog.kindsByPrefix,
    isLogForTerminal: deps.requestLogger.isForTerminal === true,
    publicPorts: publicPorts(),
    own: own.list(),
    secretKeyId: deps.secretKeyId(),
    sharedStatus: status.sharedStatus,
    clockOffset: status.clockOffset,
    addressLists: deps.addressLists.all(),
  });
}

/** Workers hear of records and logins that change, and whether somebody follows requests. */
function followForWorkers(
  { replica, logins, history }: WorkersDependencies,
  workers: EdgeWorkers,
  opening: AsyncDisposableStack,
): void {
  for (const stop of [replica.onChange((changes) => workers.show(changes)), ...followLogins(logins, workers)])
    opening.defer(stop);
  history.onFollowed((isFollowed) => workers.watch(isFollowed));
}

function* recordsOf(replica: Replica): Iterable<StoredRecord> {
  for (const kind of replica.kinds()) yield* replica.all(kind);
}

function followLogins(logins: LoginRecords, workers: EdgeWorkers): readonly (() => void)[] {
  return [
    logins.onChanged((changes) => workers.tell('loginsChanged', changes)),
    logins.onForeignChange(() => workers.tell('loginsForeign')),
    // One that does not answer is replaced by one that starts with the new state.
    logins.onReset(() => workers.callAll('loginsReset')),
  ];
}

type Listeners = Readonly<Record<EdgeListenerName, HandingListener>>;

async function openListeners(
  deps: WorkersDependencies,
  { workers, gate }: { readonly workers: EdgeWorkers; readonly gate: StartGate },
  opening: AsyncDisposableStack,
): Promise<Listeners> {
  const onProblem = (err: Error): void => deps.logger.error({ err }, 'failed to accept a connection');
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
  return { https, http };
}

interface DrainedParts {
  readonly gate: StartGate;
  readonly listeners: Listeners;
  readonly tunnels: MainThreadTunnels['tunnels'];
  readonly workers: EdgeWorkers;
}

function drainOnce({ gate, listeners, tunnels, workers }: DrainedParts): OpenedWorkers['drain'] {
  const drain: OpenedWorkers['drain'] = async (timeoutMs, how) => {
    gate.close();
    const closed = [listeners.https.close(), listeners.http.close()];
    const endsAtMs = performance.now() + timeoutMs;
    tunnels.startDraining();
    await Promise.all([workers.drain(timeoutMs, how), tunnels.drain(() => Math.max(0, endsAtMs - performance.now()))]);
    await Promise.all(closed);
  };
  let drained: Promise<void> | null = null;
  return (timeoutMs, how) => {
    drained ??= drain(timeoutMs, how);
    return drained;
  };
}

interface HandingListenerOptions extends Pick<EdgeListenerOptions, 'open' | 'onProblem'> {
  readonly onSocket: (socket: Socket) => void;
}

interface HandingListener extends Pick<EdgeListener, 'addresses'> {
  close(): Promise<void>;
}

/**
 * Accepts connections for other threads. Nothing is read from them: a socket that was read from stays in its thread.
 */
async function openHandingListener({ open, onSocket, onProblem }: HandingListenerOptions): Promise<HandingListener> {
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
