import type { Socket } from 'node:net';
import type { GatewayWorkers } from '../../gateway/ports.ts';
import type { AgentReports, AgentTls } from './agent-orders.ts';
import { AgentsOfWorker, type GatewayOfWorkers } from './agents-of-worker.ts';
import type { EdgeWorkers } from './edge-workers.ts';
import type { WorkerThread } from './worker-thread.ts';

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
