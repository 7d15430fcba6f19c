import type pg from 'pg';
import { PosternError } from '../../lib/errors.ts';
import { createGroupCommit, type JobOutcome } from '../group-commit.ts';
import { type Job, type ProgramArgs, type ProgramName, type ProgramResult, startProgram } from '../sql/programs.ts';
import { readRevision } from '../sql/revision-rows.ts';
import { runJobs } from '../sql/run-jobs.ts';
import type { SqlEngine } from '../sql/sql-engine.ts';
import { integer, statement } from '../sql/statement.ts';
import { inTransaction, type PostgresConnection } from './postgres-connection.ts';
import type { RevisionWatch } from './revision-watch.ts';

export interface PostgresEngineOptions {
  readonly pool: pg.Pool;
  readonly watch: RevisionWatch;
  readonly channel: string;
}

export const READ_VIEW = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';
/** Said, because a database may have another default: whoever waited for the writers' row would then fail instead of going on. */
export const WRITE = 'BEGIN ISOLATION LEVEL READ COMMITTED';
/** Every writer of every process takes this row first: so they come one after the other, and what one has judged holds. */
export const LOCK_WRITERS = statement("SELECT value FROM counter WHERE name = 'revision' FOR UPDATE");

export function createPostgresEngine({ pool, watch, channel }: PostgresEngineOptions): SqlEngine {
  const group = createGroupCommit(runGroup);
  let closing: Promise<void> | null = null;

  async function runGroup(jobs: readonly Job[]): Promise<JobOutcome[]> {
    let before = 0;
    let after = 0;
    try {
      const outcomes = await inTransaction(pool, WRITE, async (connection) => {
        before = await lockWriters(connection);
        const answers = await connection.run(runJobs(jobs));
        after = await connection.run(readRevision());
        if (after > before) await connection.query(statement('SELECT pg_notify(?, ?)', [channel, String(after)]));
        return answers.map((value): JobOutcome => ({ ok: true, value }));
      });
      watch.noteOwnCommit(before, after);
      return outcomes;
    } catch (error) {
      // A lost connection or a full disk is everybody's; anything else is the fault of one job, and must not hurt others.
      if (error instanceof PosternError) throw error;
      if (jobs.length === 1) return [{ ok: false, error }];
      return runOneByOne(jobs);
    }
  }

  async function runOneByOne(jobs: readonly Job[]): Promise<JobOutcome[]> {
    const outcomes: JobOutcome[] = [];
    try {
      for (const job of jobs) outcomes.push(...(await runGroup([job])));
    } catch (error) {
      // Those before it are committed, and are told so.
      while (outcomes.length < jobs.length) outcomes.push({ ok: false, error });
    }
    return outcomes;
  }

  async function close(): Promise<void> {
    await group.close();
    await watch.close();
    await pool.end();
  }

  return {
    name: 'postgres',
    read: (name, ...args) => inTransaction(pool, READ_VIEW, (connection) => runProgram(connection, name, args)),
    write: async <Name extends ProgramName>(name: Name, ...args: ProgramArgs<Name>) =>
      (await group.submit({ name, args })) as ProgramResult<Name>,
    withView: (use) =>
      inTransaction(pool, READ_VIEW, (connection) => use((name, ...args) => runProgram(connection, name, args))),
    onForeignCommit: (listener) => watch.onForeignCommit(listener),
    compareWith: (applied) => watch.compareWith(applied),
    commitCount: () => group.commitCount(),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

async function lockWriters(connection: PostgresConnection): Promise<number> {
  const [row] = await connection.query(LOCK_WRITERS);
  if (row === undefined) throw new Error('the store has no revision counter');
  return integer(row, 'value');
}

async function runProgram<Name extends ProgramName>(
  connection: PostgresConnection,
  name: Name,
  args: ProgramArgs<Name>,
): Promise<ProgramResult<Name>> {
  return (await connection.run(startProgram({ name, args }))) as ProgramResult<Name>;
}
