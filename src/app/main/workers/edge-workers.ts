import type { Socket } from 'node:net';
import { availableParallelism } from 'node:os';
import type { Registry } from 'prom-client';
import { SliceQueue, TimeSlice } from '../../../kit/async/slices.ts';
import type { JsonObject } from '../../../kit/json.ts';
import type { LoginRecord, SeenQuestion } from '../../../modules/contract/login-store.ts';
import type { EdgeDrainOptions } from '../../../proxy/edge/drain-edge.ts';
import { type Change, revisionOf, type StoredRecord } from '../../../store/store.ts';
import type { Config } from '../../settings/schema.ts';
import type { HandedListenerName, MainMethods, WorkerMethods } from './worker-protocol.ts';
import { LOOK_EVERY_MS, type StartedWith, Watchdog, WorkerMetrics, WorkerThread } from './worker-thread.ts';

/** Each login once, as the thread with its last version knows it, with the last use that any thread has seen. */
export function latestOfEach(records: readonly LoginRecord[]): readonly LoginRecord[] {
  const latest = new Map<string, LoginRecord>();
  for (const record of records) {
    const other = latest.get(record.id);
    const [newer, older] = other !== undefined && other.version > record.version ? [other, record] : [record, other];
    latest.set(record.id, { ...newer, lastActiveMs: Math.max(newer.lastActiveMs, older?.lastActiveMs ?? 0) });
  }
  return [...latest.values()];
}

interface Unserved<Worker> {
  readonly revisions: ReadonlySet<number>;
  readonly workers: Set<Worker>;
  readonly done: PromiseWithResolvers<void>;
}

function untilServed(waiting: readonly { readonly done: PromiseWithResolvers<void> }[]): Promise<void> | null {
  return waiting.length === 0 ? null : Promise.all(waiting.map(({ done }) => done.promise)).then(() => {});
}

/** Changes that were shown to workers, until all of these serve them or have ended. Small ones overtake large ones. */
export class UnservedChanges<Worker> {
  readonly #byNumber = new Map<number, Unserved<Worker>>();
  #last = 0;

  /** Returns the number under which workers answer. */
  add(revisions: ReadonlySet<number>, workers: Iterable<Worker>): number {
    this.#last += 1;
    const unserved = { revisions, workers: new Set(workers), done: Promise.withResolvers<void>() };
    if (unserved.workers.size > 0) this.#byNumber.set(this.#last, unserved);
    return this.#last;
  }

  served(worker: Worker, number: number): void {
    const unserved = this.#byNumber.get(number);
    if (unserved?.workers.delete(worker) !== true || unserved.workers.size > 0) return;
    this.#byNumber.delete(number);
    unserved.done.resolve();
  }

  ended(worker: Worker): void {
    for (const number of [...this.#byNumber.keys()]) this.served(worker, number);
  }

  /** Resolves when the changes of a revision are served; null: they are. */
  of(revision: number): Promise<void> | null {
    return untilServed([...this.#byNumber.values()].filter(({ revisions }) => revisions.has(revision)));
  }

  /** Resolves when all that were added until now are served; null: they are. */
  all(): Promise<void> | null {
    return untilServed([...this.#byNumber.values()]);
  }
}

interface EdgeWorkersOptions {
  readonly count: number;
  /** What the next worker knows when it starts. */
  readonly startOf: (index: number) => StartedWith;
  /** What a worker held in shared memory is free. */
  readonly release: (index: number) => void;
  /** Lines of workers. */
  readonly writeLog: (text: string) => void;
  /** For one worker. */
  readonly methods: (index: number) => Omit<MainMethods, 'served' | 'unlinked'>;
  /** All records of the replica, as they are when the iteration reaches them. */
  readonly records: () => Iterable<StoredRecord>;
  /** The worker's end of its connection for streams to agents. */
  readonly link: (index: number) => Promise<Socket>;
  /** Tells a new worker the rest, before it serves. */
  readonly introduce: (worker: WorkerThread) => Promise<void>;
  /** A worker takes connections from now on. */
  readonly onReady: () => void;
  /** All of them are about to end. */
  readonly leave: () => void;
  readonly log: { info(fields: object, message: string): void; error(fields: object, message: string): void };
}

const FILL_BATCH = 500;
/** More would be copied to all workers for longer than a slice takes. */
const MAX_SHOWN_AT_ONCE = 100;
const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 5_000;
/** As many as a listening socket queues for a slow program. */
const MAX_WAITING = 4_096;

interface WaitingSocket {
  readonly listener: HandedListenerName;
  readonly socket: Socket;
}

/**
 * The threads that serve visitors. Each gets the connections that the main thread accepts, and the changes that the
 * replica shows. A worker that ends or does not answer is replaced; its connections are lost.
 */
export class EdgeWorkers {
  readonly #options: EdgeWorkersOptions;
  readonly #workers: (WorkerThread | null)[];
  readonly #connections: Int32Array;
  readonly #queue = new SliceQueue();
  readonly #waiting: WaitingSocket[] = [];
  readonly #watchdog = new Watchdog<WorkerThread>();
  readonly #metrics = new WorkerMetrics();
  readonly #unserved = new UnservedChanges<WorkerThread>();
  readonly #retryMs: number[];
  readonly #timer: NodeJS.Timeout;
  #isWatched = false;
  #isDraining = false;

  /** `connections`: shared memory, two counts for each worker: visitors, agents. */
  constructor(options: EdgeWorkersOptions, connections: SharedArrayBuffer) {
    this.#options = options;
    this.#connections = new Int32Array(connections);
    this.#workers = Array.from({ length: options.count }, () => null);
    this.#retryMs = Array.from({ length: options.count }, () => FIRST_RETRY_MS);
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  /** Rejects when one of them cannot be opened. */
  async open(): Promise<void> {
    try {
      await Promise.all(this.#workers.map((_, index) => this.#start(index)));
    } catch (error) {
      await this.#close();
      throw error;
    }
  }

  /**
   * Goes to the worker with the fewest connections. Those of agents count apart, so that each agent has several
   * workers.
   */
  accept(listener: HandedListenerName, socket: Socket): void {
    const offset = listener === 'tunnel' ? this.#options.count : 0;
    const worker = this.#leastBusy(offset);
    if (worker === null) {
      if (this.#waiting.length < MAX_WAITING && !this.#isDraining) this.#waiting.push({ listener, socket });
      else socket.destroy();
      return;
    }
    if (socket.destroyed) return;
    Atomics.add(this.#connections, offset + worker.index, 1);
    try {
      worker.calls.tell('accept', [listener, socket], [socket as never]);
    } catch {
      // The client has reset it.
      Atomics.sub(this.#connections, offset + worker.index, 1);
      socket.destroy();
    }
  }

  show(changes: readonly Change[]): void {
    // One that is about to serve settles everything before.
    const serving = this.#living().filter(({ state }) => state !== 'opening');
    const number = this.#unserved.add(new Set(changes.map(revisionOf)), serving);
    if (changes.length <= MAX_SHOWN_AT_ONCE) {
      this.tell('show', number, changes);
      return;
    }
    const parts: [Change[]][] = [];
    for (let at = 0; at < changes.length; at += MAX_SHOWN_AT_ONCE)
      parts.push([changes.slice(at, at + MAX_SHOWN_AT_ONCE)]);
    for (const { calls } of this.#living()) {
      calls.tellInSlices('gather', parts, this.#queue);
      calls.tell('show', [number, []]);
    }
  }

  /** Resolves when all workers serve the changes of a revision that the replica has shown; null: they do. */
  served(revision: number): Promise<void> | null {
    return this.#unserved.of(revision);
  }

  /** Resolves when all workers serve everything that the replica has shown until now; null: they do. */
  settled(): Promise<unknown> | null {
    return this.#unserved.all();
  }

  tell<Name extends keyof WorkerMethods>(name: Name, ...args: Parameters<WorkerMethods[Name]>): void {
    for (const worker of this.#living()) worker.calls.tell(name, args as never);
  }

  /** Gets the lines that workers have buffered. */
  flushLogs(): void {
    for (const worker of this.#living()) worker.flushLog();
  }

  /** Open connections of visitors of each. */
  get connectionCounts(): readonly number[] {
    return this.#ready().map((worker) => this.#count(worker, 0));
  }

  /** Open connections of agents of each. */
  get agentCounts(): readonly number[] {
    return this.#ready().map((worker) => this.#count(worker, this.#options.count));
  }

  /** Text of the metrics page. */
  metrics(registry: Registry): Promise<string> {
    return this.#metrics.page(registry, this.#ready());
  }

  /** `routeIds` are all routes of the edge. */
  forgetMetrics(edgeId: string, routeIds: ReadonlySet<string>): void {
    this.#metrics.forget(edgeId, routeIds);
  }

  /** All that live: one that is about to serve has to know it too. */
  all(): readonly WorkerThread[] {
    return this.#living();
  }

  watch(isWatched: boolean): void {
    this.#isWatched = isWatched;
    this.tell('watch', isWatched);
  }

  /** The answers of all that answer. */
  ask(question: JsonObject): Promise<readonly JsonObject[]> {
    return answersOf(this.#ready().map(({ calls }) => calls.call('ask', question)));
  }

  /** What workers have in memory. One that does not answer is left out. */
  async seenLogins(question: SeenQuestion): Promise<readonly LoginRecord[]> {
    return latestOfEach((await answersOf(this.#ready().map(({ calls }) => calls.call('seenLogins', question)))).flat());
  }

  /** Resolves when all have done it, or have ended. */
  async callAll(name: 'loginsReset' | 'ping'): Promise<void> {
    await Promise.allSettled(this.#living().map(({ calls }) => calls.call(name)));
  }

  async drain(timeoutMs: number, how: EdgeDrainOptions | undefined): Promise<void> {
    this.#isDraining = true;
    await Promise.allSettled(this.#living().map(({ calls }) => calls.call('drain', timeoutMs, how)));
  }

  /** After `drain`, when no agent is left. */
  async close(): Promise<void> {
    this.#isDraining = true;
    this.#options.leave();
    await Promise.allSettled(this.#living().map(({ calls }) => calls.call('leave')));
    await this.#close();
  }

  async #close(): Promise<void> {
    this.#isDraining = true;
    clearInterval(this.#timer);
    for (const { socket } of this.#waiting.splice(0)) socket.destroy();
    await Promise.all(this.#living().map((worker) => worker.end()));
  }

  #living(): readonly WorkerThread[] {
    return this.#workers.filter((worker) => worker !== null && worker.state !== 'ended') as WorkerThread[];
  }

  #ready(): readonly WorkerThread[] {
    return this.#living().filter(({ state }) => state === 'ready');
  }

  async #start(index: number): Promise<void> {
    const { startOf, methods, writeLog } = this.#options;
    for (const offset of [0, this.#options.count]) Atomics.store(this.#connections, offset + index, 0);
    const worker = new WorkerThread(startOf(index), methods(index), {
      onLog: writeLog,
      onServed: (number) => this.#unserved.served(worker, number),
      onUnlinked: () => this.#linkAgain(worker),
      onEnded: (cause) => this.#ended(worker, cause),
    });
    this.#workers[index] = worker;
    try {
      await this.#prepare(worker);
    } catch (error) {
      await worker.end();
      throw error;
    }
    worker.state = 'ready';
    this.#retryMs[index] = FIRST_RETRY_MS;
    for (const { listener, socket } of this.#waiting.splice(0)) this.accept(listener, socket);
    this.#options.onReady();
  }

  async #prepare(worker: WorkerThread): Promise<void> {
    const { calls } = worker;
    await this.#fill(worker);
    worker.thread = await calls.call('open');
    await this.#link(worker);
    await this.#options.introduce(worker);
    if (this.#isWatched) calls.tell('watch', [true]);
    // From now on writes wait for it.
    worker.state = 'settling';
    await calls.call('settled');
  }

  async #link({ index, calls }: WorkerThread): Promise<void> {
    const socket = await this.#options.link(index);
    try {
      await calls.callWith('link', [socket], [socket as never]);
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }

  /** One of the two threads has stood still for long. */
  #linkAgain(worker: WorkerThread): void {
    if (worker.state === 'ending' || worker.state === 'ended' || this.#isDraining) return;
    this.#link(worker).catch((err: unknown) => {
      this.#options.log.error({ err, worker: worker.index }, 'failed to connect to a worker');
      void worker.end();
    });
  }

  /** In slices: there may be 100,000 records. What changes meanwhile is shown as to all others. */
  async #fill(worker: WorkerThread): Promise<void> {
    const slice = new TimeSlice(this.#queue);
    let batch: StoredRecord[] = [];
    for (const record of this.#options.records()) {
      batch.push(record);
      if (batch.length < FILL_BATCH) continue;
      worker.calls.tell('fill', [batch]);
      batch = [];
      if (slice.isOver) await slice.next();
    }
    if (batch.length > 0) worker.calls.tell('fill', [batch]);
  }

  #ended(worker: WorkerThread, cause: unknown): void {
    const { index } = worker;
    if (this.#workers[index] === worker) this.#workers[index] = null;
    this.#options.release(index);
    this.#unserved.ended(worker);
    void this.#metrics.ended(worker);
    if (this.#isDraining) return;
    const retryMs = this.#retryMs[index] ?? FIRST_RETRY_MS;
    this.#retryMs[index] = Math.min(retryMs * 2, MAX_RETRY_MS);
    const { log } = this.#options;
    log.error({ err: cause, worker: index }, 'a worker has ended, and its connections with it: another one starts');
    setTimeout(() => {
      if (this.#isDraining) return;
      this.#start(index).catch((err: unknown) => log.error({ err, worker: index }, 'failed to start a worker'));
    }, retryMs);
  }

  /** A worker that does not answer serves nobody, and every write would wait for it. */
  #look(): void {
    for (const worker of this.#living()) {
      if (worker.state !== 'ready' && worker.state !== 'settling') continue;
      const state = this.#watchdog.look(worker, worker.runDelayMs);
      if (state === 'lost') {
        this.#options.log.error({ worker: worker.index }, 'a worker has not answered for two seconds');
        void worker.end();
      } else if (state === 'first') {
        worker.calls.call('ping').then(
          () => this.#watchdog.answered(worker),
          () => {},
        );
      }
    }
  }

  #leastBusy(offset: number): WorkerThread | null {
    let least: WorkerThread | null = null;
    for (const worker of this.#workers) {
      if (worker === null || worker.state !== 'ready') continue;
      if (least === null || this.#count(worker, offset) < this.#count(least, offset)) least = worker;
    }
    return least;
  }

  #count({ index }: WorkerThread, offset: number): number {
    return Atomics.load(this.#connections, offset + index);
  }
}

async function answersOf<Answer>(calls: readonly Promise<Answer>[]): Promise<Answer[]> {
  const answers = await Promise.allSettled(calls);
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
}

const MAX_AUTO = 8;

/** How many threads serve visitors; 1: that of the server alone. */
export function workersOf({ workers }: Pick<Config, 'workers'>): number {
  return workers === 'auto' ? Math.min(availableParallelism(), MAX_AUTO) : workers;
}
