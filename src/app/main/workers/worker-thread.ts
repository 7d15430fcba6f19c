import { MessageChannel, type MessagePort, receiveMessageOnPort, type Worker } from 'node:worker_threads';
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client';
import { runDelayMs } from '../../../kit/process/standstill.ts';
import { ThreadCalls } from '../../../kit/process/thread-calls.ts';
import { startProgramWorker } from '../../../kit/program-files.ts';
import type { MainMethods, WorkerMethods, WorkerStart } from './worker-protocol.ts';

const FLUSH_WITHIN_MS = 1_000;

/**
 * `opening`: it learns what there is; nobody waits for it. `settling`: writes wait for it, and it gets no connections
 * yet. `ready`: it gets connections. `ending`: it gets no more, but may still run. `ended`: the thread is gone.
 */
type WorkerState = 'opening' | 'settling' | 'ready' | 'ending' | 'ended';

/** A worker as the main thread sees it. */
export class WorkerThread {
  readonly index: number;
  readonly calls: ThreadCalls<WorkerMethods>;
  state: WorkerState = 'opening';
  /** What the system calls it. Null where it does not tell. */
  thread: string | null = null;
  readonly #worker: Worker;
  readonly #logPort: MessagePort;
  readonly #logFlushed = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  readonly #writeLog: (text: string) => void;

  constructor(start: StartedWith, methods: Omit<MainMethods, 'served' | 'unlinked'>, events: WorkerEvents) {
    this.index = start.index;
    this.#writeLog = (text) => events.onLog(text);
    const { port1, port2 } = new MessageChannel();
    this.#logPort = port1;
    port1.on('message', this.#writeLog);
    port1.unref();
    const workerData: WorkerStart = { ...start, logPort: port2, logFlushed: this.#logFlushed.buffer };
    this.#worker = startProgramWorker('app/main/workers/thread/edge-worker', { workerData, transferList: [port2] });
    this.calls = new ThreadCalls(this.#worker, {
      ...methods,
      served: (number: number) => events.onServed(number),
      unlinked: () => events.onUnlinked(),
    });
    let cause: unknown = null;
    this.#worker.on('error', (error) => {
      cause = error;
    });
    this.#worker.on('exit', () => {
      this.#readLog();
      port1.close();
      this.state = 'ended';
      this.calls.end(new Error('the worker has ended', { cause }));
      events.onEnded(cause);
    });
  }

  /** How long it was ready to run, but got no CPU. */
  get runDelayMs(): number {
    return this.thread === null ? 0 : runDelayMs(this.thread);
  }

  /** Waits for its lines, for a second at most: the process may be about to end. */
  flushLog(): void {
    Atomics.store(this.#logFlushed, 0, 0);
    this.calls.tell('flushLog', []);
    Atomics.wait(this.#logFlushed, 0, 0, FLUSH_WITHIN_MS);
    this.#readLog();
  }

  #readLog(): void {
    for (;;) {
      const received = receiveMessageOnPort(this.#logPort) as { readonly message: string } | undefined;
      if (received === undefined) return;
      this.#writeLog(received.message);
    }
  }

  /** Ends it immediately. */
  async end(): Promise<void> {
    if (this.state !== 'ended') this.state = 'ending';
    await this.#worker.terminate();
  }
}

/** The rest is made for each thread. */
export type StartedWith = Omit<WorkerStart, 'logPort' | 'logFlushed'>;

interface WorkerEvents {
  onLog(text: string): void;
  onServed(number: number): void;
  onUnlinked(): void;
  /** `cause`: what it threw; null: it was ended. */
  onEnded(cause: unknown): void;
}

export const LOOK_EVERY_MS = 500;
const MAX_SILENT_MS = 2_000;
/** However little the machine lets it run: every write waits for it. */
const MAX_LOOKS = 20;

interface Waiting {
  readonly looks: number;
  /** Without the time in which it could not run. */
  readonly ms: number;
  readonly runDelayMs: number;
}

/**
 * How long workers have not answered. What a worker waits for a CPU does not count: a machine with too much to do would
 * lose its connections too. Counted in looks, since the thread that looks may be late itself.
 */
export class Watchdog<Worker extends object> {
  readonly #waiting = new WeakMap<Worker, Waiting>();

  /** `first`: ask it. `lost`: it has had two seconds to answer. */
  look(worker: Worker, runDelayMs: number): 'first' | 'waiting' | 'lost' {
    const before = this.#waiting.get(worker);
    if (before === undefined) {
      this.#waiting.set(worker, { looks: 0, ms: 0, runDelayMs });
      return 'first';
    }
    const ms = before.ms + Math.max(0, LOOK_EVERY_MS - (runDelayMs - before.runDelayMs));
    const looks = before.looks + 1;
    this.#waiting.set(worker, { looks, ms, runDelayMs });
    return ms >= MAX_SILENT_MS || looks >= MAX_LOOKS ? 'lost' : 'waiting';
  }

  answered(worker: Worker): void {
    this.#waiting.delete(worker);
  }
}

type Metrics = readonly MetricObjectWithValues<MetricValue<string>>[];

/**
 * Metrics of the main thread and of all workers, as one page. What a worker had counted when it ended stays part of the
 * sums, as far as it was shown: counters never fall.
 */
export class WorkerMetrics {
  readonly #shown = new Map<WorkerThread, Metrics>();
  #ofEnded: Metrics = [];

  async page(registry: Registry, workers: readonly WorkerThread[]): Promise<string> {
    await Promise.allSettled(
      workers.map(async (worker) => {
        const metrics = (await worker.calls.call('metrics')) as Metrics;
        if (worker.state !== 'ended') this.#shown.set(worker, metrics);
      }),
    );
    const own = (await registry.getMetricsAsJSON()) as unknown as Metrics;
    return sumOf([own, this.#ofEnded, ...this.#shown.values()]).metrics();
  }

  async ended(worker: WorkerThread): Promise<void> {
    const last = this.#shown.get(worker);
    this.#shown.delete(worker);
    if (last === undefined) return;
    const counts = last.filter(({ type }) => String(type) !== 'gauge');
    this.#ofEnded = (await sumOf([this.#ofEnded, counts]).getMetricsAsJSON()) as unknown as Metrics;
  }

  /** The series of routes that no longer exist. */
  forget(edgeId: string, routeIds: ReadonlySet<string>): void {
    const isGone = ({ edge, route }: Partial<Record<string, string | number>>): boolean =>
      edge === edgeId && typeof route === 'string' && route !== '' && !routeIds.has(route);
    this.#ofEnded = this.#ofEnded.map((metric) => ({
      ...metric,
      values: metric.values.filter(({ labels }) => !isGone(labels)),
    }));
  }
}

function sumOf(all: readonly Metrics[]): Registry {
  return AggregatorRegistry.aggregate(all as never);
}
