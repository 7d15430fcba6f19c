import { createHmac } from 'node:crypto';
import type { Socket } from 'node:net';
import { setImmediate as setImmediatePromise } from 'node:timers/promises';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { Registry } from 'prom-client';
import { kindOfIdIn } from '../../../../control/documents/kind-of-id.ts';
import {
  CONNECTION_CLOSED,
  REQUEST_COMPLETE,
  type TrafficReporter,
  WantedTypes,
} from '../../../../control/events/event-recorder.ts';
import { identityAddress } from '../../../../control/identity/contracts.ts';
import { SliceLane } from '../../../../kit/async/slices.ts';
import { listenOnce, reporting } from '../../../../kit/guarded-listeners.ts';
import type { WholeAnswer, WholeRequest } from '../../../../kit/http/whole-request.ts';
import type { JsonObject } from '../../../../kit/json.ts';
import { createLog, followBugs } from '../../../../kit/logging/logger.ts';
import { SharedTally } from '../../../../kit/process/shared-memory.ts';
import { ownThread } from '../../../../kit/process/standstill.ts';
import { ThreadCalls, type ThreadMethods } from '../../../../kit/process/thread-calls.ts';
import { tuneRuntime } from '../../../../kit/process/tune-runtime.ts';
import { modules } from '../../../../modules/registry.ts';
import type { EdgeTallies } from '../../../../proxy/edge/admission.ts';
import { AcceptedSockets, plainConnections } from '../../../../proxy/edge/listeners/edge-listener.ts';
import type { SharedSecret } from '../../../../proxy/edge/tls/host-servers.ts';
import { tunnelFigures } from '../../../../proxy/edge/tunnels/online-tunnels.ts';
import { KnownLists } from '../../../../proxy/lists/known-lists.ts';
import { InstallationTunnels } from '../../../../proxy/telemetry/live/installation-tunnels.ts';
import { BackendTraffic } from '../../../../proxy/telemetry/metrics/backend-traffic.ts';
import type { AnsweringNode, OtherNodes } from '../../../../proxy/telemetry/other-nodes.ts';
import { InstallationRequests } from '../../../../proxy/telemetry/requests/installation-requests.ts';
import type { RecordedRequest } from '../../../../proxy/telemetry/requests/recorded-request.ts';
import { RequestHistory } from '../../../../proxy/telemetry/requests/request-history.ts';
import { InstallationSeries } from '../../../../proxy/telemetry/series/installation-series.ts';
import { TrafficSeries } from '../../../../proxy/telemetry/series/traffic-series.ts';
import { OwnAddresses } from '../../../../proxy/upstream/upstream-guard.ts';
import { createKeyring, purposeSeals } from '../../../../store/keyring.ts';
import { ReplicaCopy } from '../../../../store/replica/replica.ts';
import { type Change, revisionOf } from '../../../../store/store.ts';
import { type AssembledEdge, assembleEdge } from '../../data-plane/assemble-edge.ts';
import { openDescriptorBudget } from '../../data-plane/descriptors.ts';
import { createOwnIssuer } from '../../data-plane/own-issuer.ts';
import { proxiedClients } from '../../data-plane/proxied-clients.ts';
import { openServerTracing, SEND_REST_WITHIN_MS } from '../../data-plane/tracing.ts';
import { tallyIn } from '../../data-plane/traffic.ts';
import { Board, sharedClock } from '../board.ts';
import {
  type AgentTls,
  type HandedListenerName,
  type MainMethods,
  remoteBudgets,
  type WorkerMethods,
  type WorkerStart,
} from '../worker-protocol.ts';
import { HeldAgents, HeldLink } from './held-agents.ts';
import { remoteLogins, SentInBatches } from './remote-logins.ts';
import { WorkerTunnels } from './worker-tunnels.ts';

/** Questions that the main thread asks a worker, which itself asks nobody. */
class OwnQuestions implements OtherNodes {
  readonly ownName: string;
  readonly #answers = new Map<string, (question: JsonObject) => JsonObject | Promise<JsonObject>>();

  constructor(ownName: string) {
    this.ownName = ownName;
  }

  answer(kind: string, answer: (question: JsonObject) => JsonObject | Promise<JsonObject>): void {
    this.#answers.set(kind, answer);
  }

  askOthers(): Promise<readonly AnsweringNode[]> {
    return Promise.resolve([]);
  }

  async ask(question: JsonObject): Promise<JsonObject> {
    const { kind } = question;
    const answer = typeof kind === 'string' ? this.#answers.get(kind) : undefined;
    if (answer === undefined) throw new Error(`a worker does not know the question ${JSON.stringify(kind)}`);
    return answer(question);
  }
}

const BACKENDS_EVERY_MS = 1_000;
/** One more than `outliveStreams` waits for. */
const COLLECTIONS = 5;
const NO_TUNNELS = { all: () => [], get: () => undefined };

/** A thread of its own for the data plane: it gets connections and records from the main thread, and has no store. */
function run(start: WorkerStart): void {
  const { config, node } = start;
  const runtime = tuneRuntime();
  const board = new Board(start.board);
  const clock = sharedClock(start.clockOffset);
  const keyring = createKeyring(start.secretKeys.map((key) => Buffer.from(key)));
  keyring.use(start.secretKeyId);
  const replica = new ReplicaCopy(() => main.call('refresh'));
  const logins = remoteLogins((method, ...args) => main.call('login', method, args), {
    keyReplaced: (key) => main.call('keyReplaced', key),
    seen: (question) => main.call('seenLogins', question),
    askIssuer: (question) => main.call('askIssuer', question),
  });
  const own = new OwnAddresses();
  own.become(start.own);
  const tunnels = new WorkerTunnels({
    onBroken: () => main.tell('unlinked', []),
    isUnsettled: () => board.isUnsettled,
    mayServe: () => board.mayServe,
    agents: () => agents,
    streams: new SharedTally(start.tunnelStreams, start.index),
  });
  const addressLists = new KnownLists(start.addressLists);
  const connections = new Int32Array(start.connections);
  const { isLogForTerminal } = start;
  const log = createLog(config.log_level, { write: (text) => start.logPort.postMessage(text) }, node, isLogForTerminal);
  const logFlushed = new Int32Array(start.logFlushed);
  const gathered: Change[] = [];
  const ready = Promise.withResolvers<OpenedWorker>();
  let opened: OpenedWorker | null = null;
  let agents: HeldAgents | null = null;
  let heldLink: HeldLink | null = null;
  let settled: Promise<unknown> = Promise.resolve();

  async function open(): Promise<string | null> {
    replica.filled();
    const { logger, requestLogger } = log;
    const registry = new Registry();
    followBugs(logger, registry);
    const { budget: descriptors } = openDescriptorBudget({ registry, logger: null, isOneOfSeveral: true });
    const wanted = new WantedTypes(replica);
    const finished = new SentInBatches<Parameters<TrafficReporter['requestComplete']>[0]>((facts) =>
      main.tell('finished', [facts]),
    );
    const traffic: TrafficReporter = {
      wantsRequests: () => wanted.has(REQUEST_COMPLETE),
      requestComplete: (facts) => finished.add(facts),
      wantsConnections: () => wanted.has(CONNECTION_CLOSED),
      connectionClosed: (id, facts) => main.tell('connectionClosed', [id, facts]),
      moduleEvent: (type, object) => main.tell('moduleEvent', [type, object]),
    };
    const backendTraffic = new BackendTraffic();
    const backends = setInterval(() => {
      const counts = backendTraffic.take();
      if (counts.length > 0) main.tell('backends', [counts]);
    }, BACKENDS_EVERY_MS).unref();
    const history = new RequestHistory({ maxRequests: Math.ceil(config.request_history / start.count) });
    const questions = new OwnQuestions(node);
    new InstallationRequests(history, questions);
    const series = new TrafficSeries(clock);
    tallyIn(series, history);
    new InstallationSeries(series, questions, clock);
    const used = () => ({ tunnels: tunnelFigures(tunnels, NO_TUNNELS), agents: agents?.figures() ?? [] });
    new InstallationTunnels(used, questions, new SliceLane());
    const store = {
      commit: (writeSet: Parameters<MainMethods['commit']>[0]) => main.call('commit', writeSet),
      ...purposeSeals(keyring),
    };
    const tally = (name: keyof EdgeTallies): SharedTally => new SharedTally(start.tallies[name], start.index);
    const tallies: EdgeTallies = {
      requests: tally('requests'),
      streams: tally('streams'),
      connections: tally('connections'),
      handshakes: tally('handshakes'),
      plainConnections: tally('plainConnections'),
    };
    const tracing = await openServerTracing({ config, store, registry, logger, node });
    const clientsOf = proxiedClients({ config, logger, registry, descriptors });
    const address = identityAddress(config.identity_host);
    const serveOwnHost = (request: WholeRequest): Promise<WholeAnswer> => main.call('serveOwnHost', request);
    const assembled = await assembleEdge({
      ownHost: address === null ? null : { hostname: address.hostname, serve: serveOwnHost },
      ownIssuer:
        address === null
          ? null
          : createOwnIssuer({ issuer: address.issuer, reader: replica, mac: store.mac, serve: serveOwnHost }),
      config,
      store,
      replica,
      logins,
      attempts: remoteBudgets({
        redeem: (callback, state) => main.call('redeem', callback, state),
        guess: (callback) => main.call('guess', callback),
        checkPassword: (claim) => main.call('checkPassword', claim),
        endAttempt: (number, outcome) => main.tell('endAttempt', [number, outcome]),
      }),
      others: {
        get isCurrent() {
          return board.isCurrent;
        },
        catchUp: () => main.call('catchUp'),
      },
      catalog: { modules, kindOfId: kindOfIdIn(start.kindsByPrefix) },
      clock,
      logger,
      requestLogger,
      registry,
      own,
      internalCa: () => Promise.resolve({ mintLeaf: (request) => main.call('mintLeaf', request) }),
      nodeMemories: start.nodeMemories,
      thread: start.index,
      ticketSecret: ticketSecretOf(start, store.mac),
      tallies,
      traffic,
      backendTraffic,
      history,
      tracing,
      descriptors: {
        admits: (use) => descriptors.admits(use),
        // Each worker counts for itself which visitors have connections to upstreams.
        free: (use) => descriptors.free(use) / (use === 'upstream' ? start.count : 1),
      },
      clientsOf,
      tunnels,
      mayServeNames: () => board.mayServe,
      inheritedPort: () => null,
      publicPorts: () => start.publicPorts,
      addressLists,
      isLazy: true,
    });
    const { edge } = assembled;
    const listeners = {
      https: new AcceptedSockets({
        clients: clientsOf('edge'),
        onSocket: (socket, client) => edge.accept(socket, client),
      }),
      http: new AcceptedSockets({
        clients: clientsOf('edge_http'),
        onSocket: plainConnections(
          config.edge_connections_per_address,
          (socket, client) => edge.acceptPlain(socket, client),
          tallies.plainConnections,
          () => descriptors.free('visitor'),
        ),
      }),
    };
    const watched = new SentInBatches<RecordedRequest>((requests) => main.tell('watched', [requests]));
    let unwatch: (() => void) | null = null;
    opened = {
      assembled,
      registry,
      accept: (listener, socket) => {
        const at = start.index + (listener === 'tunnel' ? start.count : 0);
        listenOnce(socket, 'close', reporting('worker'), () => Atomics.sub(connections, at, 1));
        if (listener !== 'tunnel') listeners[listener].accept(socket);
        else if (agents === null) socket.destroy();
        else agents.accept(socket);
      },
      holdAgents: (tls) =>
        new HeldAgents(tls, {
          ...{ clients: clientsOf('tunnel'), records: replica, clock, log: logger, threads: start.count },
          main: {
            agentArrived: (...args) => main.tell('agentArrived', args),
            agentSaid: (...args) => main.tell('agentSaid', args),
            agentClosed: (...args) => main.tell('agentClosed', args),
            agentActive: (...args) => main.tell('agentActive', args),
          },
        }),
      ask: (question) => questions.ask(question),
      watch: (isWatched) => {
        unwatch?.();
        unwatch = isWatched ? history.subscribe((request) => watched.add({ ...request })) : null;
      },
      drain: async (timeoutMs, how) => {
        for (const listener of Object.values(listeners)) listener.stop(how?.lingerMs);
        await edge.drain(timeoutMs, how);
        for (const listener of Object.values(listeners)) listener.cut();
        clearInterval(backends);
        main.tell('backends', [backendTraffic.take()]);
        for (const batch of [finished, watched]) batch.flush();
        await assembled.close();
        await tracing?.close(SEND_REST_WITHIN_MS);
        log.flush();
      },
    };
    ready.resolve(opened);
    return ownThread();
  }

  async function holdAgents(tls: AgentTls, socket: Socket): Promise<void> {
    agents = (await ready.promise).holdAgents(tls);
    heldLink = new HeldLink(socket, tunnels.held, (why) => log.logger.warn({ why }, 'the main thread broke the rules'));
  }

  /** The runtime aborts if a thread ends while an ended HTTP/2 session waits to be freed (decision 21). */
  async function freeSessions(): Promise<void> {
    for (let times = 0; times < COLLECTIONS; times += 1) {
      runtime.collectAll();
      await setImmediatePromise();
    }
  }

  async function show(number: number, last: readonly Change[]): Promise<void> {
    const changes = gathered.length === 0 ? last : [...gathered.splice(0), ...last];
    replica.show(changes);
    const snapshots = opened?.assembled.snapshots;
    const revisions = new Set(changes.map(revisionOf));
    const served = Promise.all([...revisions].map((revision) => snapshots?.served(revision) ?? Promise.resolve()));
    settled = Promise.all([settled, served]);
    await served;
    main.tell('served', [number]);
  }

  const methods: WorkerMethods & ThreadMethods = {
    fill: (records) => replica.fill(records),
    open,
    link: (socket) => tunnels.connect(socket),
    tunnelOnline: (tunnel) => tunnels.online(tunnel),
    tunnelOffline: (id) => tunnels.offline(id),
    publish: (endpoint) =>
      opened?.assembled.edge.endpoints.publish(endpoint) ?? Promise.reject(new Error('the worker is not open')),
    withdraw: (id) => opened?.assembled.edge.endpoints.withdraw(id),
    holdAgents,
    agentTls: (tls) => agents?.useTls(tls),
    agentDo: (number, order) => agents?.carryOut(number, order),
    agentAlive: (number, withinMs) => agents?.isAlive(number, withinMs) ?? Promise.resolve(false),
    accept: (listener, socket) => (opened === null ? void socket.destroy() : opened.accept(listener, socket)),
    gather: (changes) => void gathered.push(...changes),
    show: (number, changes) => void show(number, changes),
    addressList: (news) => addressLists.tell(news),
    forgetAddressList: (id) => addressLists.forget(id),
    loginsChanged: (changes) => logins.changed(changes),
    loginsForeign: () => logins.foreign(),
    loginsReset: () => logins.reset(),
    keyReplaced: (key) => logins.keyReplaced(key),
    seenLogins: (question) => logins.seen(question),
    useSecretKey: (keyId) => keyring.use(keyId),
    ownAddresses: (list) => own.become(list),
    metrics: () => opened?.registry.getMetricsAsJSON() ?? Promise.resolve([]),
    ask: (question) => opened?.ask(question) ?? Promise.resolve({}),
    settled: async () => void (await settled),
    watch: (isWatched) => opened?.watch(isWatched),
    ping: () => {},
    flushLog: () => {
      log.flush();
      Atomics.store(logFlushed, 0, 1);
      Atomics.notify(logFlushed, 0);
    },
    drain: (timeoutMs, how) => opened?.drain(timeoutMs, how) ?? Promise.resolve(),
    leave: async () => {
      agents?.close();
      heldLink?.close();
      log.flush();
      await freeSessions();
    },
  };
  const main = new ThreadCalls<MainMethods>(parentPort as NonNullable<typeof parentPort>, methods);
}

interface OpenedWorker {
  readonly assembled: AssembledEdge;
  readonly registry: Registry;
  accept(listener: HandedListenerName, socket: Socket): void;
  holdAgents(tls: AgentTls): HeldAgents;
  ask(question: JsonObject): Promise<JsonObject>;
  watch(isWatched: boolean): void;
  drain: WorkerMethods['drain'];
}

function ticketSecretOf({ ticketSecret }: WorkerStart, mac: (purpose: string, text: string) => string): SharedSecret {
  if (ticketSecret === null) return (text) => Buffer.from(mac('tls-ticket', text), 'hex');
  return (text) => createHmac('sha256', ticketSecret).update(text).digest();
}

if (!isMainThread) run(workerData as WorkerStart);
