import { closeSync, openSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import { type Periodic, periodically } from '../../kit/async/waiting.ts';
import { PosternError } from '../../kit/errors.ts';
import { fromWire } from '../../kit/process/wire-error.ts';
import { startProgramWorker } from '../../kit/program-files.ts';
import { storeErrors } from '../errors.ts';
import { createGroupCommit, type GroupCommit, type JobOutcome, type QueuedJob } from '../group-commit.ts';
import { History } from '../history.ts';
import type { CommitMark } from '../sql/commit-rows.ts';
import type { ProgramArgs, ProgramName, ProgramResult, Programs } from '../sql/programs.ts';
import type { ApplyResult } from '../sql/seal.ts';
import type { SqlEngine } from '../sql/sql-engine.ts';
import type { StoreSharing } from '../store.ts';
import { StoreHealthMonitor } from '../store-health.ts';
import { storeFull } from './sqlite-connection.ts';
import {
  bytesIn,
  isPacked,
  outcomeFromWire,
  type Packed,
  packJob,
  unpackResult,
  type WireGroup,
  type WireProvenRead,
  type WorkerOptions,
  type WorkerReply,
  type WorkerRequest,
  type WorkerTask,
} from './worker-messages.ts';

interface SqliteEngineOptions {
  readonly path: string;
  readonly dataDir: string;
  /** There is no room for the reserve: nothing is written until there is. */
  readonly isFull: boolean;
  readonly maxPages?: number | undefined;
  /** The last commit when the store was opened. */
  readonly commit: CommitMark;
  readonly probeIntervalMs?: number | undefined;
  /** Another process owns the data directory, and this one is taking over from it. */
  readonly isTakingOver: boolean;
  /** Resolves when this process owns the data directory. */
  readonly own: () => Promise<void>;
  readonly onClosed: () => void;
}

const PROBE_EVERY_MS = 2_000;

/** Two threads on one WAL database: a read never waits behind an fsync. */
export class SqliteEngine implements SqlEngine<Programs> {
  readonly name = 'sqlite';
  readonly history: History;
  readonly monitor: StoreHealthMonitor;
  readonly sharing: StoreSharing;
  readonly #headerFile: number;
  readonly #writer: WorkerThread;
  readonly #reader: WorkerThread;
  readonly #group: GroupCommit;
  readonly #probes: Periodic;
  readonly #foreign: ForeignCommits;
  readonly #onClosed: () => void;
  #lastView = 0;
  /** Not null once it was asked to close. */
  #closing: Promise<void> | null = null;

  constructor(options: SqliteEngineOptions) {
    const { path, dataDir, isFull, maxPages, commit, probeIntervalMs, isTakingOver, own, onClosed } = options;
    const headerFile = openSync(path, 'r');
    this.#headerFile = headerFile;
    this.#writer = new WorkerThread({ path, access: 'write', maxPages, headerFile, reserveIn: dataDir });
    this.#reader = new WorkerThread({ path, access: 'read', maxPages: undefined, headerFile, reserveIn: null });
    this.history = new History(commit, () => this.read('readCommit'));
    this.monitor = new StoreHealthMonitor(isFull ? storeFull(path) : null);
    const runGroup = (jobs: readonly QueuedJob[]) => this.monitor.watchingWrite(() => this.#runGroup(jobs));
    this.#group = createGroupCommit(this.history.guard(runGroup));
    // The monitor reports a failure.
    this.#probes = periodically(() => this.#probe().catch(() => {}), probeIntervalMs ?? PROBE_EVERY_MS);
    this.#foreign = new ForeignCommits(() => this.read('readRevision'));
    if (isTakingOver) this.#foreign.follow();
    this.sharing = sharingOf(this.#foreign, own);
    this.#onClosed = onClosed;
  }

  read<Name extends ProgramName>(name: Name, ...args: ProgramArgs<Name>): Promise<ProgramResult<Name>> {
    return this.#readIn(null, name, args);
  }

  readProven<Name extends ProgramName>(name: Name, ...args: ProgramArgs<Name>): Promise<ProgramResult<Name>> {
    return this.history.noticing(async () => {
      const { seen, epoch } = this.history;
      const job = await packJob({ name, args });
      const read = (await this.#ask({ do: 'read_proven', job, seen }, bytesIn([job]))) as WireProvenRead;
      this.history.advance(read.commit, epoch);
      return read.value as ProgramResult<Name>;
    });
  }

  async write<Name extends ProgramName>(name: Name, ...args: ProgramArgs<Name>): Promise<ProgramResult<Name>> {
    const { epoch } = this.history;
    const job = await packJob({ name, args });
    return (await this.#group.submit({ ...job, epoch })) as ProgramResult<Name>;
  }

  /** SQLite has one writer. */
  writeUrgently<Name extends ProgramName>(name: Name, ...args: ProgramArgs<Name>): Promise<ProgramResult<Name>> {
    return this.write(name, ...args);
  }

  async withView<Result>(use: (read: SqlEngine<Programs>['read']) => Promise<Result>): Promise<Result> {
    this.#lastView += 1;
    const view = this.#lastView;
    await this.#ask({ do: 'open_view', view });
    try {
      return await use((name, ...args) => this.#readIn(view, name, args));
    } finally {
      await this.#reader.request({ do: 'close_view', view });
    }
  }

  onForeignCommit(listener: () => void): void {
    this.#foreign.onCommit(listener);
  }

  /** During a handover the poll finds them. */
  onForeignLogins(): () => void {
    return () => {};
  }

  compareWith(applied: () => number): void {
    this.#foreign.compareWith(applied);
  }

  commitCount(): number {
    return this.#group.commitCount();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #runGroup(jobs: readonly QueuedJob[]): Promise<JobOutcome[]> {
    const { seen, epoch } = this.history;
    const written = (await this.#writer.request({ do: 'group', jobs, seen }, bytesIn(jobs))) as WireGroup;
    this.history.advance(written.commit, epoch);
    const outcomes: JobOutcome[] = [];
    for (const outcome of written.outcomes.map(outcomeFromWire)) {
      const isLong = outcome.ok && isPacked(outcome.value);
      outcomes.push(isLong ? { ok: true, value: await unpackResult(outcome.value as Packed<ApplyResult>) } : outcome);
    }
    return outcomes;
  }

  async #probe(): Promise<void> {
    const { history, monitor } = this;
    const { seen, epoch } = history;
    const probed = monitor.watchingProbe(() => this.#reader.request({ do: 'probe', seen }) as Promise<CommitMark>);
    history.advance(await history.noticing(() => probed), epoch);
    if (monitor.needsWrite) await this.#group.submit({ name: 'probeWrite', args: [], epoch: history.epoch });
  }

  async #readIn<Name extends ProgramName>(view: number | null, name: Name, args: ProgramArgs<Name>) {
    return (await this.#ask({ do: 'read', job: { name, args }, view })) as ProgramResult<Name>;
  }

  async #ask(task: WorkerTask, handedOver: readonly ArrayBuffer[] = []): Promise<unknown> {
    try {
      return await this.#reader.request(task, handedOver);
    } catch (error) {
      this.monitor.noteDamage(error);
      throw error;
    }
  }

  async #close(): Promise<void> {
    await this.#foreign.stop();
    await this.#probes.close();
    this.history.close();
    await this.#group.close();
    await Promise.all([this.#writer.close(), this.#reader.close()]);
    closeSync(this.#headerFile);
    this.#onClosed();
  }
}

function sharingOf(foreign: ForeignCommits, own: () => Promise<void>): StoreSharing {
  return {
    get isShared() {
      return foreign.isFollowing;
    },
    begin: () => foreign.follow(),
    end: () => void foreign.stop(),
    own: async () => {
      await own();
      await foreign.stop();
    },
  };
}

/** A revocation has to cut streams of the process that is being replaced as quickly as anywhere else. */
const POLL_MS = 100;

/**
 * Notices commits of the other process while two share the database: one that drains and one that has taken over. A
 * write of this process meanwhile waits for SQLite's own lock.
 */
class ForeignCommits {
  readonly #readRevision: () => Promise<number>;
  #listener: () => void = () => {};
  #applied: () => number = () => Number.POSITIVE_INFINITY;
  #looks: Periodic | null = null;

  constructor(readRevision: () => Promise<number>) {
    this.#readRevision = readRevision;
  }

  get isFollowing(): boolean {
    return this.#looks !== null;
  }

  onCommit(listener: () => void): void {
    this.#listener = listener;
  }

  /** The revision that all readers in this process have reached. */
  compareWith(applied: () => number): void {
    this.#applied = applied;
  }

  follow(): void {
    this.#looks ??= periodically(() => this.#look(), POLL_MS);
  }

  /** Looks once more: the other process may have committed since the last look. */
  async stop(): Promise<void> {
    const looks = this.#looks;
    if (looks === null) return;
    this.#looks = null;
    await looks.close();
    await this.#look();
  }

  async #look(): Promise<void> {
    try {
      if ((await this.#readRevision()) > this.#applied()) this.#listener();
    } catch {
      // The probe reports a database that cannot be read; the next look repeats this one.
    }
  }
}

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
