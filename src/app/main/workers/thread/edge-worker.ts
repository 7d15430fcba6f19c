import type { Socket } from 'node:net';
import { setImmediate as setImmediatePromise } from 'node:timers/promises';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { listenOnce, reporting } from '../../../../kit/guarded-listeners.ts';
import { LatePart } from '../../../../kit/late-part.ts';
import { ownThread } from '../../../../kit/process/standstill.ts';
import { ThreadCalls, type ThreadMethods } from '../../../../kit/process/thread-calls.ts';
import { tuneRuntime } from '../../../../kit/process/tune-runtime.ts';
import { type Change, revisionOf } from '../../../../store/store.ts';
import type { AgentTls, HandedListenerName, WorkerMethods, WorkerStart } from '../worker-protocol.ts';
import { HeldAgents, HeldLink } from './held-agents.ts';
import { type MainThread, prepareThread, type ThreadParts } from './thread-parts.ts';
import { openWorkerDataPlane } from './worker-data-plane.ts';

/** One more than `outliveStreams` waits for. */
const COLLECTIONS = 5;

/** A thread of its own for the data plane: it gets connections and records from the main thread, and has no store. */
function run(start: WorkerStart): void {
  const runtime = tuneRuntime();
  const worker = new LatePart<ThreadParts>('the worker');
  const methods: WorkerMethods & ThreadMethods = {
    ...recordMethods(worker),
    ...loginMethods(worker),
    ...agentMethods(worker),
    ...trafficMethods(worker),
    ...endingMethods(worker, runtime),
  };
  const main: MainThread = new ThreadCalls(parentPort as NonNullable<typeof parentPort>, methods);
  worker.open(prepareThread(start, main));
}

type Methods<Name extends keyof WorkerMethods> = Pick<WorkerMethods, Name>;

/** The configuration, and what the data plane is opened with. */
function recordMethods(
  worker: LatePart<ThreadParts>,
): Methods<
  | 'fill'
  | 'open'
  | 'gather'
  | 'show'
  | 'settled'
  | 'addressList'
  | 'forgetAddressList'
  | 'useSecretKey'
  | 'ownAddresses'
> {
  const shown = new ShownChanges(worker);
  return {
    fill: (records) => worker.get().replica.fill(records),
    open: async () => {
      const parts = worker.get();
      parts.replica.filled();
      parts.dataPlane.open(await openWorkerDataPlane(parts));
      return ownThread();
    },
    gather: (changes) => shown.gather(changes),
    show: (number, changes) => void shown.show(number, changes),
    settled: async () => void (await shown.settled),
    addressList: (news) => worker.get().addressLists.tell(news),
    forgetAddressList: (id) => worker.get().addressLists.forget(id),
    useSecretKey: (keyId) => worker.get().keyring.use(keyId),
    ownAddresses: (list) => worker.get().own.become(list),
  };
}

/** Changes of records that the main thread has shown, and whether traffic sees them. */
class ShownChanges {
  readonly #worker: LatePart<ThreadParts>;
  readonly #gathered: Change[] = [];
  #settled: Promise<unknown> = Promise.resolve();

  constructor(worker: LatePart<ThreadParts>) {
    this.#worker = worker;
  }

  /** Resolves when traffic sees everything that was shown until now. */
  get settled(): Promise<unknown> {
    return this.#settled;
  }

  gather(changes: readonly Change[]): void {
    this.#gathered.push(...changes);
  }

  async show(number: number, last: readonly Change[]): Promise<void> {
    const { replica, dataPlane, main } = this.#worker.get();
    const changes = this.#gathered.length === 0 ? last : [...this.#gathered.splice(0), ...last];
    replica.show(changes);
    const snapshots = dataPlane.ifOpen?.snapshots;
    const revisions = new Set(changes.map(revisionOf));
    const served = Promise.all([...revisions].map((revision) => snapshots?.served(revision) ?? Promise.resolve()));
    this.#settled = Promise.all([this.#settled, served]);
    await served;
    main.tell('served', [number]);
  }
}

function loginMethods(
  worker: LatePart<ThreadParts>,
): Methods<'loginsChanged' | 'loginsForeign' | 'loginsReset' | 'keyReplaced' | 'seenLogins'> {
  return {
    loginsChanged: (changes) => worker.get().logins.changed(changes),
    loginsForeign: () => worker.get().logins.foreign(),
    loginsReset: () => worker.get().logins.reset(),
    keyReplaced: (key) => worker.get().logins.keyReplaced(key),
    seenLogins: (question) => worker.get().logins.seen(question),
  };
}

/** Tunnels, and the connections of agents that this worker has. */
function agentMethods(
  worker: LatePart<ThreadParts>,
): Methods<
  | 'link'
  | 'tunnelOnline'
  | 'tunnelOffline'
  | 'publish'
  | 'withdraw'
  | 'holdAgents'
  | 'agentTls'
  | 'agentDo'
  | 'agentAlive'
> {
  return {
    link: (socket) => worker.get().tunnels.connect(socket),
    tunnelOnline: (tunnel) => worker.get().tunnels.online(tunnel),
    tunnelOffline: (id) => worker.get().tunnels.offline(id),
    publish: async (endpoint) => worker.get().dataPlane.get().edge.endpoints.publish(endpoint),
    withdraw: (id) => worker.get().dataPlane.ifOpen?.edge.endpoints.withdraw(id),
    holdAgents: (tls, socket) => holdAgents(worker.get(), tls, socket),
    agentTls: (tls) => worker.get().agents.ifOpen?.useTls(tls),
    agentDo: (number, order) => worker.get().agents.ifOpen?.carryOut(number, order),
    agentAlive: async (number, withinMs) => worker.get().agents.ifOpen?.isAlive(number, withinMs) ?? false,
  };
}

async function holdAgents(parts: ThreadParts, tls: AgentTls, socket: Socket): Promise<void> {
  const { start, main, log, replica, clock, tunnels, agents, agentLink } = parts;
  const { logger } = log;
  const { clientsOf } = await parts.dataPlane.whenOpen;
  const held = new HeldAgents(tls, {
    ...{ clients: clientsOf('tunnel'), records: replica, clock, log: logger, threads: start.count },
    main: {
      agentArrived: (...args) => main.tell('agentArrived', args),
      agentSaid: (...args) => main.tell('agentSaid', args),
      agentClosed: (...args) => main.tell('agentClosed', args),
      agentActive: (...args) => main.tell('agentActive', args),
    },
  });
  agents.open(held);
  agentLink.open(new HeldLink(socket, tunnels.held, (why) => logger.warn({ why }, 'the main thread broke the rules')));
}

function trafficMethods(worker: LatePart<ThreadParts>): Methods<'accept' | 'metrics' | 'ask' | 'watch' | 'ping'> {
  return {
    accept: (listener, socket) => accept(worker.get(), listener, socket),
    metrics: async () => worker.get().dataPlane.ifOpen?.registry.getMetricsAsJSON() ?? [],
    ask: async (question) => worker.get().dataPlane.ifOpen?.ask(question) ?? {},
    watch: (isWatched) => worker.get().dataPlane.ifOpen?.watch(isWatched),
    ping: () => {},
  };
}

function accept(
  { start, connections, dataPlane, agents }: ThreadParts,
  listener: HandedListenerName,
  socket: Socket,
): void {
  const plane = dataPlane.ifOpen;
  if (plane === null) {
    socket.destroy();
    return;
  }
  const at = start.index + (listener === 'tunnel' ? start.count : 0);
  listenOnce(socket, 'close', reporting('worker'), () => Atomics.sub(connections, at, 1));
  if (listener !== 'tunnel') plane.accept(listener, socket);
  else if (agents.ifOpen === null) socket.destroy();
  else agents.ifOpen.accept(socket);
}

function endingMethods(
  worker: LatePart<ThreadParts>,
  runtime: ReturnType<typeof tuneRuntime>,
): Methods<'flushLog' | 'drain' | 'leave'> {
  return {
    flushLog: () => {
      const { start, log } = worker.get();
      log.flush();
      const logFlushed = new Int32Array(start.logFlushed);
      Atomics.store(logFlushed, 0, 1);
      Atomics.notify(logFlushed, 0);
    },
    drain: async (timeoutMs, how) => worker.get().dataPlane.ifOpen?.drain(timeoutMs, how),
    leave: async () => {
      const { agents, agentLink, log } = worker.get();
      agents.ifOpen?.close();
      agentLink.ifOpen?.close();
      log.flush();
      // The runtime aborts if a thread ends while an ended HTTP/2 session waits to be freed (decision 21).
      for (let times = 0; times < COLLECTIONS; times += 1) {
        runtime.collectAll();
        await setImmediatePromise();
      }
    },
  };
}

if (!isMainThread) run(workerData as WorkerStart);
