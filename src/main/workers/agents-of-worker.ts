import type { AgentLink } from '../../edge/tunnels/online-tunnels.ts';
import type { ConnectionHandler, LocalConnection } from '../../gateway/local-connection.ts';
import { OutgoingLink } from '../../nodes/links/outgoing-link.ts';
import { BETWEEN_THREADS } from '../../nodes/links/peer-links.ts';
import type { AgentReports, AgentTls } from './agent-orders.ts';
import { socketPair } from './socket-pair.ts';
import { ThreadConnection } from './thread-connection.ts';
import type { WorkerThread } from './worker-thread.ts';

export interface GatewayOfWorkers extends ConnectionHandler {
  arrived(connection: LocalConnection): void;
  /** A worker has replaced one that ended. */
  spread(): void;
}

/** The connections of agents that one worker has, and the way to them. */
export class AgentsOfWorker {
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
          // Its agents could no longer be reached.
          if (!this.#isLeaving) void worker.end();
        },
      },
      BETWEEN_THREADS,
    );
    // Its failure ends the worker, also while nobody waits.
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
