import { closeSync, openSync } from 'node:fs';
import { periodically } from '../../lib/async/periodically.ts';
import { createGroupCommit, type JobOutcome } from '../group-commit.ts';
import { History } from '../history.ts';
import type { CommitMark } from '../sql/commits/commit-rows.ts';
import type { ProgramArgs, ProgramName, ProgramResult, QueuedJob } from '../sql/programs.ts';
import type { ApplyResult } from '../sql/sealing/sealed-write-set.ts';
import type { SqlEngine } from '../sql/sql-engine.ts';
import type { StoreSharing } from '../store.ts';
import { StoreHealthMonitor } from '../store-health.ts';
import { ForeignCommits } from './foreign-commits.ts';
import { bytesIn, isPacked, type Packed, packJob, unpackResult } from './packed-messages.ts';
import { storeFull } from './sqlite-error.ts';
import { outcomeFromWire, type WireGroup, type WireProvenRead, type WorkerTask } from './worker-protocol.ts';
import { WorkerThread } from './worker-thread.ts';

export interface SqliteEngineOptions {
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
export function createSqliteEngine({
  path,
  dataDir,
  isFull,
  maxPages,
  commit,
  probeIntervalMs,
  isTakingOver,
  own,
  onClosed,
}: SqliteEngineOptions): SqlEngine {
  const headerFile = openSync(path, 'r');
  const writer = new WorkerThread({ path, access: 'write', maxPages, headerFile, reserveIn: dataDir });
  const reader = new WorkerThread({ path, access: 'read', maxPages: undefined, headerFile, reserveIn: null });
  const history = new History(commit, () => readIn(null, 'readCommit', []));
  const monitor = new StoreHealthMonitor(isFull ? storeFull(path) : null);
  const group = createGroupCommit(history.guard((jobs) => monitor.watchingWrite(() => runGroup(jobs))));
  const probe = async (): Promise<void> => {
    const { seen, epoch } = history;
    const probed = monitor.watchingProbe(() => reader.request({ do: 'probe', seen }) as Promise<CommitMark>);
    history.advance(await history.noticing(() => probed), epoch);
    if (monitor.needsWrite) await group.submit({ name: 'probeWrite', args: [], epoch: history.epoch });
  };
  // The monitor reports a failure.
  const probes = periodically(() => probe().catch(() => {}), probeIntervalMs ?? PROBE_EVERY_MS);
  const foreign = new ForeignCommits(() => readIn(null, 'readRevision', []));
  if (isTakingOver) foreign.follow();
  const sharing: StoreSharing = {
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
  let lastView = 0;
  let closing: Promise<void> | null = null;

  async function runGroup(jobs: readonly QueuedJob[]): Promise<JobOutcome[]> {
    const { seen, epoch } = history;
    const written = (await writer.request({ do: 'group', jobs, seen }, bytesIn(jobs))) as WireGroup;
    history.advance(written.commit, epoch);
    const outcomes: JobOutcome[] = [];
    for (const outcome of written.outcomes.map(outcomeFromWire)) {
      const isLong = outcome.ok && isPacked(outcome.value);
      outcomes.push(isLong ? { ok: true, value: await unpackResult(outcome.value as Packed<ApplyResult>) } : outcome);
    }
    return outcomes;
  }

  async function write<Name extends ProgramName>(name: Name, ...args: ProgramArgs<Name>) {
    const { epoch } = history;
    const job = await packJob({ name, args });
    return (await group.submit({ ...job, epoch })) as ProgramResult<Name>;
  }

  async function ask(task: WorkerTask, handedOver: readonly ArrayBuffer[] = []): Promise<unknown> {
    try {
      return await reader.request(task, handedOver);
    } catch (error) {
      monitor.noteDamage(error);
      throw error;
    }
  }

  async function readIn<Name extends ProgramName>(view: number | null, name: Name, args: ProgramArgs<Name>) {
    return (await ask({ do: 'read', job: { name, args }, view })) as ProgramResult<Name>;
  }

  async function close(): Promise<void> {
    await foreign.stop();
    await probes.close();
    history.close();
    await group.close();
    await Promise.all([writer.close(), reader.close()]);
    closeSync(headerFile);
    onClosed();
  }

  return {
    name: 'sqlite',
    history,
    monitor,
    read: (name, ...args) => readIn(null, name, args),
    readProven: <Name extends ProgramName>(name: Name, ...args: ProgramArgs<Name>) =>
      history.noticing(async () => {
        const { seen, epoch } = history;
        const job = await packJob({ name, args });
        const read = (await ask({ do: 'read_proven', job, seen }, bytesIn([job]))) as WireProvenRead;
        history.advance(read.commit, epoch);
        return read.value as ProgramResult<Name>;
      }),
    write,
    // SQLite has one writer.
    writeUrgently: write,
    withView: async (use) => {
      lastView += 1;
      const view = lastView;
      await ask({ do: 'open_view', view });
      try {
        return await use((name, ...args) => readIn(view, name, args));
      } finally {
        await reader.request({ do: 'close_view', view });
      }
    },
    sharing,
    onForeignCommit: (listener) => foreign.onCommit(listener),
    // During a handover the poll finds them.
    onForeignLogins: () => () => {},
    compareWith: (applied) => foreign.compareWith(applied),
    commitCount: () => group.commitCount(),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}
