import type { ClientHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Shortage } from '../../../kit/net/shared-places.ts';
import type { AgentLink } from '../../../proxy/edge/tunnels/online-tunnels.ts';
import type { RequestChannel } from '../../../proxy/upstream/upstream.ts';
import type { ConnectionHandler, LocalConnection } from '../../../tunnel/gateway/agent-session.ts';
import type { GatewayWorkers } from '../../../tunnel/gateway/ports.ts';
import { OutgoingLink } from '../../../tunnel/nodes/links/outgoing-link.ts';
import { BETWEEN_THREADS } from '../../../tunnel/nodes/links/peer-links.ts';
import type { GatewayMessage } from '../../../tunnel/protocol/messages.ts';
import type { EdgeWorkers } from './edge-workers.ts';
import { socketPair } from './linked-workers.ts';
import type { AgentOrder, AgentReports, AgentTls } from './worker-protocol.ts';
import type { WorkerThread } from './worker-thread.ts';

interface ThreadConnectionParts {
  readonly number: number;
  readonly worker: number;
  readonly remoteAddress: string;
  /** The connection to the worker, for streams; null before it is up. */
  link(): AgentLink | null;
  order(number: number, order: AgentOrder): void;
  isAlive(number: number, withinMs: number): Promise<boolean>;
}

const NO_BYTES = { received: 0, sent: 0 };

/** An agent's connection that a worker has, as the gateway in the main thread sees it. */
class ThreadConnection implements LocalConnection {
  readonly relay = 'holder';
  readonly remoteAddress: string;
  readonly worker: number;
  readonly #parts: ThreadConnectionParts;
  /** The worker has reported its end, or has the order to close it at once. */
  #isClosed = false;
  #isRetired = false;
  /** Reported by the worker once the connection drains. Null: it does not. */
  #left: number | null = null;
  #belonging = '';

  constructor(parts: ThreadConnectionParts) {
    this.remoteAddress = parts.remoteAddress;
    this.worker = parts.worker;
    this.#parts = parts;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get hasRoom(): boolean {
    return !this.#isRetired && this.#link?.hasRoom === true;
  }

  shortage(visitor: string | undefined): Shortage | null {
    return this.#isRetired ? null : (this.#link?.shortage?.(visitor) ?? null);
  }

  /** Until it drains, those that pass through this thread. */
  get active(): number {
    return this.#left ?? this.#link?.active ?? 0;
  }

  get channel(): RequestChannel | null {
    return this.#link?.channel ?? null;
  }

  /** The worker measures it. */
  get roundTripMs(): null {
    return null;
  }

  get bytes(): typeof NO_BYTES {
    return NO_BYTES;
  }

  get #link(): AgentLink | null {
    return this.#parts.link();
  }

  measureRoundTrip(): boolean {
    return false;
  }

  request(...args: Parameters<AgentLink['request']>): ClientHttp2Stream {
    return (this.#link as AgentLink).request(...args);
  }

  reset(stream: ClientHttp2Stream): void {
    this.#link?.reset(stream);
  }

  release(stream: ClientHttp2Stream): void {
    this.#link?.release(stream);
  }

  retire(): void {
    this.#isRetired = true;
    this.#order({ do: 'retire' });
  }

  greeted(): void {
    this.#order({ do: 'greeted' });
  }

  belongsTo(sessionId: string, isHome: boolean): void {
    const belonging = `${sessionId} ${isHome}`;
    if (belonging === this.#belonging) return;
    this.#belonging = belonging;
    this.#order({ do: 'belong', sessionId, isHome });
  }

  send(message: GatewayMessage): void {
    this.#order({ do: 'send', message });
  }

  sendAway(): void {
    this.#order({ do: 'sendAway' });
  }

  drain(): void {
    this.#isRetired = true;
    // The connection counts as busy until the worker has said how many streams it has.
    this.#left ??= 1;
    this.#order({ do: 'drain' });
  }

  refuse(code: string, message: string, retry: boolean): void {
    this.#isRetired = true;
    this.#order({ do: 'refuse', code, message, retry });
  }

  fail(reason: string): void {
    this.#isRetired = true;
    this.#order({ do: 'fail', reason });
    this.#isClosed = true;
  }

  close(): void {
    this.#isRetired = true;
    this.#order({ do: 'close' });
  }

  async isAlive(withinMs: number): Promise<boolean> {
    return !this.#isClosed && (await this.#parts.isAlive(this.#parts.number, withinMs));
  }

  // From the worker.

  drained(active: number): void {
    this.#left = active;
  }

  closed(): void {
    this.#isClosed = true;
    this.#isRetired = true;
    this.#left = 0;
  }

  #order(order: AgentOrder): void {
    if (!this.#isClosed) this.#parts.order(this.#parts.number, order);
  }
}

interface GatewayOfWorkers extends ConnectionHandler {
  arrived(connection: LocalConnection): void;
  /** A worker has replaced one that ended. */
  spread(): void;
}

/** The connections of agents that one worker has, and the way to them. */
class AgentsOfWorker {
  readonly reports: AgentReports;
  readonly #connections = new Map<number, ThreadConnection>();
  #worker: WorkerThread | null = null;
  #link: OutgoingLink | null = null;
  #held: Promise<void> | null = null;
  #isLeaving = false;
  readonly #gateway: () => GatewayOfWorkers | null;

  constructor(index: number, gateway: () => GatewayOfWorkers | null) {
    this.reports = {
      agentArrived: (number, remoteAddress) => {
        const connection = new ThreadConnection({
          number,
          worker: index,
          remoteAddress,
          link: () => this.#link as AgentLink | null,
          order: (each, order) => this.#worker?.calls.tell('agentDo', [each, order]),
          isAlive: (each, withinMs) => this.#isAlive(each, withinMs),
        });
        this.#connections.set(number, connection);
        gateway()?.arrived(connection);
      },
      agentSaid: (number, message) => {
        const connection = this.#connections.get(number);
        if (connection !== undefined) gateway()?.onMessage(connection, message);
      },
      agentClosed: (number, reason) => this.#closed(gateway(), number, reason),
      agentActive: (number, active) => this.#connections.get(number)?.drained(active),
    };
    this.#gateway = gateway;
  }

  /** Resolves when it can have connections. */
  hold(worker: WorkerThread, tls: AgentTls): Promise<void> {
    this.#held ??= this.#hold(worker, tls);
    return this.#held;
  }

  async #hold(worker: WorkerThread, tls: AgentTls): Promise<void> {
    const [own, theirs] = await socketPair();
    const up = Promise.withResolvers<void>();
    this.#worker = worker;
    const link = new OutgoingLink(
      own,
      { id: `worker ${worker.index}`, name: `worker ${worker.index}` },
      {
        onUp: () => {
          this.#link = link;
          up.resolve();
        },
        onDown: (_link, why) => {
          up.reject(new Error(why));
          // The worker's agents could no longer be reached.
          if (!this.#isLeaving) void worker.end();
        },
      },
      BETWEEN_THREADS,
    );
    // A failure of the link ends the worker, also while nobody waits.
    up.promise.catch(() => {});
    await worker.calls.callWith('holdAgents', [tls, theirs], [theirs as never]);
    await up.promise;
  }

  useTls(tls: AgentTls): void {
    this.#worker?.calls.tell('agentTls', [tls]);
  }

  /** All have left, and the thread is about to end. */
  leave(): void {
    this.#isLeaving = true;
    this.#link?.fail('this process is being stopped');
  }

  /** The thread is gone, and all of them with it. */
  ended(): void {
    this.#isLeaving = true;
    for (const number of [...this.#connections.keys()]) this.#closed(this.#gateway(), number, 'the worker has ended');
    this.#link?.fail('the worker has ended');
  }

  #closed(gateway: GatewayOfWorkers | null, number: number, reason: string | null): void {
    const connection = this.#connections.get(number);
    if (connection === undefined) return;
    this.#connections.delete(number);
    connection.closed();
    gateway?.onClosed(connection, reason);
  }

  async #isAlive(number: number, withinMs: number): Promise<boolean> {
    const asked = this.#worker?.calls.call('agentAlive', number, withinMs) ?? Promise.resolve(false);
    return asked.catch(() => false);
  }
}

/** The connections of agents in all workers. The gateway in this thread decides about them. */
export class WorkerAgents implements GatewayWorkers {
  readonly count: number;
  readonly #workers: () => EdgeWorkers;
  readonly #byIndex: (AgentsOfWorker | null)[];
  #opened: { readonly gateway: GatewayOfWorkers; tls: AgentTls } | null = null;

  constructor(count: number, workers: () => EdgeWorkers) {
    this.count = count;
    this.#workers = workers;
    this.#byIndex = Array.from({ length: count }, () => null);
  }

  /** For a worker that is about to start. */
  reportsOf(index: number): AgentReports {
    const agents = new AgentsOfWorker(index, () => this.#opened?.gateway ?? null);
    this.#byIndex[index] = agents;
    return agents.reports;
  }

  /** Workers take connections of agents from now on. */
  async open(gateway: GatewayOfWorkers, tls: AgentTls): Promise<void> {
    this.#opened = { gateway, tls };
    // One that has ended is replaced by one that hears of it.
    await Promise.allSettled(
      this.#workers()
        .all()
        .map((worker) => this.introduce(worker)),
    );
  }

  useTls(tls: AgentTls): void {
    if (this.#opened !== null) this.#opened.tls = tls;
    for (const agents of this.#byIndex) agents?.useTls(tls);
  }

  accept(socket: Socket): void {
    this.#workers().accept('tunnel', socket);
  }

  async introduce(worker: WorkerThread): Promise<void> {
    if (this.#opened !== null) await this.#byIndex[worker.index]?.hold(worker, this.#opened.tls);
  }

  /** A worker takes connections of agents from now on. */
  ready(): void {
    this.#opened?.gateway.spread();
  }

  /** No agent is left, and the workers are about to end. */
  leave(): void {
    for (const agents of this.#byIndex) agents?.leave();
  }

  ended(index: number): void {
    this.#byIndex[index]?.ended();
    this.#byIndex[index] = null;
  }

  async settled(): Promise<void> {
    await this.#workers().callAll('ping');
  }
}
