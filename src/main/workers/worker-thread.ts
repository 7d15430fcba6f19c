import { MessageChannel, type MessagePort, receiveMessageOnPort, type Worker } from 'node:worker_threads';
import { runDelayMs } from '../../lib/process/run-delay.ts';
import { ThreadCalls } from '../../lib/process/thread-calls.ts';
import { startProgramWorker } from '../../lib/program-files.ts';
import type { MainMethods, WorkerMethods, WorkerStart } from './worker-protocol.ts';

const FLUSH_WITHIN_MS = 1_000;

/**
 * `opening`: it learns what there is; nobody waits for it. `settling`: writes wait for it, and it gets no connections yet.
 * `ready`: it gets connections. `ending`: it gets no more, but may still run. `ended`: the thread is gone.
 */
export type WorkerState = 'opening' | 'settling' | 'ready' | 'ending' | 'ended';

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
    this.#worker = startProgramWorker('main/workers/thread/edge-worker', { workerData, transferList: [port2] });
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

export interface WorkerEvents {
  onLog(text: string): void;
  onServed(number: number): void;
  onUnlinked(): void;
  /** `cause`: what it threw; null: it was ended. */
  onEnded(cause: unknown): void;
}
