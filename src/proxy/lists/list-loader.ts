import type { Worker } from 'node:worker_threads';
import { failureCode } from '../../kit/error-text.ts';
import { type ListenerOwner, listen } from '../../kit/guarded-listeners.ts';
import { AddressListProblem } from '../../kit/net/address-table.ts';
import { startProgramWorker } from '../../kit/program-files.ts';
import type { BuildAnswer, BuildJob, BuiltTable, ListFormat } from './kept-tables.ts';

/** Far more than a database of cities takes on a slow machine. */
const MAX_BUILD_MS = 120_000;
/** The thread ends when nothing was built for so long. */
const IDLE_MS = 5_000;
const NOT_NEEDED = 'was not read, because it is no longer needed';
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 1024, maxYoungGenerationSizeMb: 64 };

export interface ListLoaderOptions {
  readonly maxBuildMs?: number;
}

/**
 * Makes tables of lists in a thread of its own, one after the other. The thread starts with the first list. One that
 * takes too long or too much memory is ended, and the list has a problem.
 */
export class ListLoader {
  readonly #maxBuildMs: number;
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #answered: (answer: BuildAnswer) => void = () => {};
  #isClosed = false;

  constructor({ maxBuildMs = MAX_BUILD_MS }: ListLoaderOptions = {}) {
    this.#maxBuildMs = maxBuildMs;
  }

  /**
   * Rejects with AddressListProblem. The bytes move to the thread. `signal`: nobody needs the table, so others do not
   * wait for it.
   */
  build(format: ListFormat, chunks: readonly Uint8Array[], signal?: AbortSignal): Promise<BuiltTable> {
    const built = this.#last.then(() => this.#build({ format, chunks }, signal));
    this.#last = built.catch(() => {});
    return built;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#end();
    await this.#last;
  }

  async #build(job: BuildJob, signal?: AbortSignal): Promise<BuiltTable> {
    if (signal?.aborted === true) throw new AddressListProblem(NOT_NEEDED);
    if (this.#isClosed) throw new AddressListProblem('was not read, because the server is being stopped');
    if (this.#idle !== null) clearTimeout(this.#idle);
    const answer = await this.#ask(job, signal);
    if (this.#worker !== null && !this.#isClosed) this.#idle = setTimeout(() => void this.#end(), IDLE_MS).unref();
    if ('problem' in answer) throw new AddressListProblem(answer.problem);
    return answer;
  }

  #ask(job: BuildJob, signal?: AbortSignal): Promise<BuildAnswer> {
    const worker = this.#started();
    const giveUp = (): void => this.#giveUp(worker, NOT_NEEDED);
    signal?.addEventListener('abort', giveUp);
    return new Promise((resolve) => {
      const timer = setTimeout(
        () => this.#giveUp(worker, `could not be read within ${this.#maxBuildMs / 1000} seconds`),
        this.#maxBuildMs,
      );
      this.#answered = (answer) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', giveUp);
        this.#answered = () => {};
        resolve(answer);
      };
      // Small ones have memory in common with others, and are copied.
      const owned = job.chunks.filter(({ buffer, byteLength }) => byteLength === buffer.byteLength);
      worker.postMessage(job, [...new Set(owned.map(({ buffer }) => buffer as ArrayBuffer))]);
    });
  }

  #started(): Worker {
    if (this.#worker !== null) return this.#worker;
    const worker = startProgramWorker('proxy/lists/thread/list-builder', { resourceLimits: RESOURCE_LIMITS });
    const owner: ListenerOwner = { contain: () => this.#giveUp(worker, 'could not be read') };
    listen(worker, 'message', owner, (answer: BuildAnswer) => this.#answered(answer));
    listen(worker, 'error', owner, (error: unknown) => this.#giveUp(worker, problemOf(error)));
    listen(worker, 'exit', owner, () => this.#giveUp(worker, 'was not read, because its thread has ended'));
    worker.unref();
    this.#worker = worker;
    return worker;
  }

  /** The thread is useless: the next list gets another one. */
  #giveUp(worker: Worker, problem: string): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    this.#answered({ problem });
    void worker.terminate();
  }

  async #end(): Promise<void> {
    if (this.#idle !== null) clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = null;
    this.#answered({ problem: 'was not read, because the server is being stopped' });
    await worker?.terminate();
  }
}

function problemOf(error: unknown): string {
  return failureCode(error) === 'ERR_WORKER_OUT_OF_MEMORY'
    ? 'needs too much memory: it is damaged'
    : 'could not be read';
}
