import { PosternError } from '../../kit/errors.ts';
import { createGroupCommit, type JobOutcome, type QueuedJob } from '../group-commit.ts';
import type { History } from '../history.ts';
import { type CommitMark, provePosition } from '../sql/commit-rows.ts';
import {
  type GroupAnswers,
  type ProgramArgs,
  type ProgramName,
  type ProgramResult,
  type Programs,
  runJobs,
  startProgram,
} from '../sql/programs.ts';
import type { SqlEngine } from '../sql/sql-engine.ts';
import { execute, type Program, statement } from '../sql/statement.ts';
import type { StoreSharing } from '../store.ts';
import type { StoreHealthMonitor } from '../store-health.ts';
import { inTransaction, isLostBeforeCommit, type PostgresConnection, READ_VIEW } from './postgres-connection.ts';
import type { RevisionWatch } from './revision-watch.ts';
import { loginChannelOf } from './schema-locks.ts';
import type { ServerPool } from './server-pool.ts';

export interface PostgresEngineOptions {
  readonly pool: ServerPool;
  readonly urgentPool: ServerPool;
  readonly watch: RevisionWatch;
  readonly history: History;
  readonly monitor: StoreHealthMonitor;
  readonly channel: string;
}

/**
 * A node that is frozen or cut off during a write holds the writers' lock: PostgreSQL ends its transaction after this
 * time.
 */
const STALLED_WRITE_TIMEOUT_MS = 2_000;

const MAX_RETRIES = 2;
/** For the last writes and for the farewells of all connections. */
const CLOSE_MS = 5_000;

/** Any number of processes work on one database. */
const ALWAYS_SHARED: StoreSharing = { isShared: true, begin: () => {}, end: () => {}, own: () => Promise.resolve() };

/**
 * Explicit, because a database may have another default: a writer that waited for the writers' row would then fail
 * instead of continuing.
 */
export const PREPARE = 'BEGIN ISOLATION LEVEL READ COMMITTED';
/** The same for holders of the writers' lock. */
export const WRITE = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = ${STALLED_WRITE_TIMEOUT_MS}`;
/** Every writer of every process takes this row first: writers are serialized, and what one has judged still holds. */
export const LOCK_WRITERS = statement("SELECT value FROM counter WHERE name = 'revision' FOR UPDATE");

export function createPostgresEngine(options: PostgresEngineOptions): SqlEngine<Programs> {
  const { pool, urgentPool, watch, channel, history, monitor } = options;
  const group = createGroupCommit(history.guard((jobs) => monitor.watchingWrite(() => runGroup(jobs))));
  watch.onPolled(() => {
    if (monitor.needsWrite) group.submit({ name: 'probeWrite', args: [], epoch: history.epoch }).catch(() => {});
  });
  let closing: Promise<void> | null = null;
  history.onReset(() => watch.forget());

  async function runGroup(jobs: readonly QueuedJob[], triesLeft = MAX_RETRIES): Promise<JobOutcome[]> {
    const { seen, epoch } = history;
    try {
      const { answers, before, after } = await inTransaction(pool, WRITE, (connection) =>
        connection.run(lockedJobs(jobs, seen, { channel, sender: watch.processId })),
      );
      history.advance(after.commit, epoch);
      watch.noteOwnCommit(before.revision, after.revision);
      return answers.map((value): JobOutcome => ({ ok: true, value }));
    } catch (error) {
      // PostgreSQL ended an idle transaction, for example because this process got no CPU time: nothing was applied.
      if (triesLeft > 0 && isLostBeforeCommit(error)) return runGroup(jobs, triesLeft - 1);
      // A lost connection or a full disk concerns every job; any other error concerns one job and must not affect
      // others.
      if (error instanceof PosternError) throw error;
      if (jobs.length === 1) return [{ ok: false, error }];
      return runOneByOne(jobs);
    }
  }

  async function runOneByOne(jobs: readonly QueuedJob[]): Promise<JobOutcome[]> {
    const outcomes: JobOutcome[] = [];
    try {
      for (const job of jobs) outcomes.push(...(await runGroup([job])));
    } catch (error) {
      // The jobs before it are committed and reported so.
      while (outcomes.length < jobs.length) outcomes.push({ ok: false, error });
    }
    return outcomes;
  }

  async function close(): Promise<void> {
    const force = setTimeout(() => pool.server.breakOff(), CLOSE_MS);
    history.close();
    await group.close();
    await watch.close();
    await Promise.all([pool.end(), urgentPool.end()]);
    clearTimeout(force);
  }

  return {
    name: 'postgres',
    history,
    monitor,
    sharing: ALWAYS_SHARED,
    read: (name, ...args) => inTransaction(pool, READ_VIEW, (connection) => runProgram(connection, name, args)),
    readProven: <Name extends ProgramName>(name: Name, ...args: ProgramArgs<Name>) =>
      history.noticing(async () => {
        const { seen, epoch } = history;
        // Sent together, and both in one view: the value counts only with the proof.
        const [{ commit }, value] = await inTransaction(pool, READ_VIEW, (connection) =>
          Promise.all([connection.run(provePosition(seen)), runProgram(connection, name, args)]),
        );
        history.advance(commit, epoch);
        return value;
      }),
    write: async <Name extends ProgramName>(name: Name, ...args: ProgramArgs<Name>) =>
      (await group.submit({ name, args, epoch: history.epoch })) as ProgramResult<Name>,
    writeUrgently: (name, ...args) =>
      inTransaction(urgentPool, PREPARE, (connection) => runProgram(connection, name, args), { isRolledBack: false }),
    withView: (use) =>
      inTransaction(pool, READ_VIEW, (connection) => use((name, ...args) => runProgram(connection, name, args))),
    onForeignCommit: (listener) => watch.onForeignCommit(listener),
    onForeignLogins: (listener) => watch.onForeignLogins(listener),
    compareWith: (applied) => watch.compareWith(applied),
    commitCount: () => group.commitCount(),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/** The lock is sent along with the proof, which sees everything committed before the lock was acquired. */
function* lockedJobs(
  jobs: readonly QueuedJob[],
  seen: CommitMark,
  { channel, sender }: { readonly channel: string; readonly sender: string },
): Program<GroupAnswers> {
  yield { ...LOCK_WRITERS, isBlind: true };
  const done = yield* runJobs(jobs, seen);
  const { before, after, isLoginNews } = done;
  if (after.revision > before.revision) {
    yield* execute('SELECT pg_notify(?, ?)', [channel, String(after.revision)]);
  }
  if (isLoginNews) yield* execute('SELECT pg_notify(?, ?)', [loginChannelOf(channel), sender]);
  return done;
}

async function runProgram<Name extends ProgramName>(
  connection: PostgresConnection,
  name: Name,
  args: ProgramArgs<Name>,
): Promise<ProgramResult<Name>> {
  return (await connection.run(startProgram({ name, args }))) as ProgramResult<Name>;
}
