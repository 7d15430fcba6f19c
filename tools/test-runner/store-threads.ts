import { EventEmitter, once } from 'node:events';
import { MessageChannel, type MessagePort, type Transferable, Worker, type WorkerOptions } from 'node:worker_threads';

export interface Started {
  readonly id: number;
  readonly workerData: unknown;
  readonly port: MessagePort;
}

export interface Ended {
  readonly id: number;
  readonly error: Readonly<Record<string, unknown>> | null;
}

const HOST = new URL('./store-thread-host.ts', import.meta.url);

/**
 * Runs the store's program for all stores of this process in one thread. The two threads of each store take 60 ms of
 * CPU to start and end, and tests start a thousand servers. Each program has its own state, connection and messages,
 * as in a thread of its own.
 */
export class StoreThreads {
  readonly #script: string;
  readonly #hosted = new Map<number, HostedProgram>();
  #host: Worker | null = null;
  #lastId = 0;

  /** `script`: the path of the store's program in one file. */
  constructor(script: string) {
    this.#script = script;
  }

  /** What `new Worker` returns for the store's program. */
  start({ workerData }: WorkerOptions): EventEmitter {
    this.#host ??= this.#startHost();
    const host = this.#host;
    this.#lastId += 1;
    const id = this.#lastId;
    const { port1, port2 } = new MessageChannel();
    const program = new HostedProgram(port1, () => host.postMessage(id));
    this.#hosted.set(id, program);
    host.postMessage({ id, workerData, port: port2 } satisfies Started, [port2]);
    return program;
  }

  #startHost(): Worker {
    const host = new Worker(HOST, { workerData: this.#script });
    // What nothing catches in one program ends all of them.
    const endAll = (error: Ended['error']) => {
      this.#host = null;
      for (const id of this.#hosted.keys()) this.#end({ id, error });
    };
    host.on('message', (ended: Ended) => this.#end(ended));
    host.on('error', (error: Error) => endAll({ message: error.message, stack: error.stack }));
    host.on('exit', () => endAll(null));
    // Open stores hold the process by their ports.
    host.unref();
    return host;
  }

  #end({ id, error }: Ended): void {
    const program = this.#hosted.get(id);
    this.#hosted.delete(id);
    program?.ended(error);
  }
}

/** The part of `Worker` that the store uses. */
class HostedProgram extends EventEmitter {
  readonly #port: MessagePort;
  readonly #end: () => void;
  #isEnded = false;

  constructor(port: MessagePort, end: () => void) {
    super();
    this.#port = port;
    this.#end = end;
    port.on('message', (message) => this.emit('message', message));
  }

  postMessage(message: unknown, handedOver: readonly Transferable[] = []): void {
    this.#port.postMessage(message, [...handedOver]);
  }

  /** Unlike a real thread, it first completes what it is doing. */
  async terminate(): Promise<void> {
    if (this.#isEnded) return;
    const exited = once(this, 'exit');
    this.#end();
    await exited;
  }

  ended(error: Ended['error']): void {
    this.#isEnded = true;
    this.#port.close();
    if (error !== null) this.emit('error', Object.assign(new Error(), error));
    this.emit('exit', 1);
  }
}
