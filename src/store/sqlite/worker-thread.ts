import type { Worker } from 'node:worker_threads';
import { PosternError } from '../../lib/errors.ts';
import { fromWire } from '../../lib/process/wire-error.ts';
import { startProgramWorker } from '../../lib/program-files.ts';
import { storeErrors } from '../errors.ts';
import type { WorkerOptions, WorkerReply, WorkerRequest, WorkerTask } from './worker-protocol.ts';

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The caller's end of a worker. When a worker dies, its pending requests fail with ERR_POSTERN_STORE_UNAVAILABLE, and
 * the next request starts another: the database recovers its log by itself.
 */
export class WorkerThread {
  readonly #options: WorkerOptions;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | null = null;
  #lastId = 0;
  #isClosed = false;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#worker = this.#start();
  }

  /** `handedOver` is part of the task, and is not copied. */
  request(task: WorkerTask, handedOver: readonly ArrayBuffer[] = []): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw storeErrors.create('ERR_POSTERN_STORE_UNAVAILABLE', 'the store is closed');
      this.#worker ??= this.#start();
      this.#lastId += 1;
      this.#pending.set(this.#lastId, { resolve, reject });
      this.#worker.postMessage({ id: this.#lastId, task } satisfies WorkerRequest, handedOver);
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.kill();
  }

  /** Ends the thread immediately, like a crash. */
  async kill(): Promise<void> {
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const worker = startProgramWorker('store/sqlite/worker', { workerData: this.#options });
    let cause: unknown;
    worker.on('message', (reply: WorkerReply) => this.#settle(reply));
    worker.on('error', (error) => {
      cause = error;
    });
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = null;
      this.#failPending(cause);
    });
    return worker;
  }

  #settle({ id, outcome }: WorkerReply): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (outcome.ok) pending?.resolve(outcome.value);
    else pending?.reject(fromWire(outcome.error));
  }

  #failPending(cause: unknown): void {
    const failed = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of failed) {
      reject(
        storeErrorOf(cause) ??
          storeErrors.create('ERR_POSTERN_STORE_UNAVAILABLE', 'the database thread ended', { cause }),
      );
    }
  }
}

/**
 * A thread that could not open the database reports the reason. The error lost its class in transit, but kept its
 * fields.
 */
function storeErrorOf(cause: unknown): PosternError | null {
  const { code, status, message } = (cause ?? {}) as Partial<PosternError>;
  if (code === undefined || !Object.hasOwn(storeErrors.rows, code) || status === undefined) return null;
  return new PosternError(code, status, message ?? code, { cause });
}
