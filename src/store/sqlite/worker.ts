import { statSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { PosternError } from '../../kit/errors.ts';
import { toWire, type WireOutcome } from '../../kit/process/wire-error.ts';
import type { Job } from '../group-commit.ts';
import { type CommitMark, provePosition } from '../sql/commit-rows.ts';
import { runJobs, startProgram } from '../sql/programs.ts';
import { readRevision } from '../sql/records/record-rows.ts';
import { DatabaseFiles, DiskReserve } from './database-files.ts';
import { LastCommitFile } from './last-commit-file.ts';
import { checkPages, SqliteConnection, storeFull } from './sqlite-connection.ts';
import {
  bytesInReply,
  packGroup,
  unpackJob,
  type WireGroup,
  type WireProvenRead,
  type WorkerOptions,
  type WorkerReply,
  type WorkerRequest,
  type WorkerTask,
} from './worker-messages.ts';

/** The thread that waits for the disk, so that the server's event loop does not. One writes, another reads. */
const options = workerData as WorkerOptions;
const connection = new SqliteConnection(options);
const files = new DatabaseFiles(options.path, options.headerFile);
const views = new Map<number, SqliteConnection>();
const lastCommit = new LastCommitFile(options.path);
const reserve = options.reserveIn === null ? null : new DiskReserve(options.reserveIn);

parentPort?.on('message', ({ id, task }: WorkerRequest) => {
  const outcome = attempt(() => perform(task));
  parentPort?.postMessage({ id, outcome } satisfies WorkerReply, bytesInReply(outcome));
});

function attempt(work: () => unknown): WireOutcome {
  try {
    return { ok: true, value: work() };
  } catch (error) {
    return { ok: false, error: toWire(error) };
  }
}

function perform(task: WorkerTask): unknown {
  switch (task.do) {
    case 'group':
      return packGroup(runGroup(task.jobs.map(unpackJob), task.seen));
    case 'read':
      return task.view === null ? runRead(task.job) : viewOf(task.view).run(startProgram(task.job));
    case 'read_proven':
      return runProvenRead(unpackJob(task.job), task.seen);
    case 'probe':
      return probe(task.seen);
    case 'open_view':
      return openView(task.view);
    case 'close_view':
      views.get(task.view)?.close();
      views.delete(task.view);
      return null;
  }
}

function runGroup(jobs: readonly Job[], seen: CommitMark): WireGroup {
  try {
    files.check();
    if (reserve?.hold() === false) throw storeFull(options.path);
    const { answers, after } = connection.transaction('IMMEDIATE', () => connection.run(runJobs(jobs, seen)));
    files.remember();
    // Checked again: a commit to a file that was removed in the meantime must not be acknowledged.
    files.check();
    if (after.commit.number > seen.number) lastCommit.write(after);
    return { outcomes: answers.map((value) => ({ ok: true, value })), commit: after.commit };
  } catch (error) {
    // A full or failing disk concerns every job; any other error concerns one job and must not affect the others.
    if (error instanceof PosternError) throw error;
    if (jobs.length === 1) return { outcomes: [{ ok: false, error: toWire(error) }], commit: seen };
    return runOneByOne(jobs, seen);
  }
}

function runOneByOne(jobs: readonly Job[], seen: CommitMark): WireGroup {
  const outcomes: WireOutcome[] = [];
  let commit = seen;
  try {
    for (const job of jobs) {
      const group = runGroup([job], commit);
      outcomes.push(...group.outcomes);
      commit = group.commit;
    }
  } catch (error) {
    // The jobs before it are committed and reported so.
    while (outcomes.length < jobs.length) outcomes.push({ ok: false, error: toWire(error) });
  }
  return { outcomes, commit };
}

function runRead(job: Job): unknown {
  return inTransaction(() => connection.run(startProgram(job)));
}

function runProvenRead(job: Job, seen: CommitMark): WireProvenRead {
  return inTransaction(() => {
    const { commit } = connection.run(provePosition(seen));
    return { commit, value: connection.run(startProgram(job)) };
  });
}

function inTransaction<Result>(read: () => Result): Result {
  const result = connection.transaction('DEFERRED', read);
  files.remember();
  return result;
}

/** Pages are checked when the file has changed on disk, by a checkpoint or by another program. */
let checkedAtMs = 0;

function probe(seen: CommitMark): CommitMark {
  files.check();
  files.checkHeader();
  const { commit } = inTransaction(() => connection.run(provePosition(seen)));
  const { mtimeMs } = statSync(options.path);
  if (mtimeMs !== checkedAtMs) checkFreshPages();
  checkedAtMs = mtimeMs;
  return commit;
}

/** On a separate connection, whose cache is empty. */
function checkFreshPages(): void {
  const fresh = new SqliteConnection({ path: options.path, access: 'read' });
  try {
    checkPages(fresh);
  } finally {
    fresh.close();
  }
}

/** On a separate connection, so that other reads still see new data. */
function openView(view: number): null {
  const viewConnection = new SqliteConnection({ path: options.path, access: 'read' });
  try {
    viewConnection.exec('BEGIN');
    // A deferred transaction takes its view at its first read, not at BEGIN.
    viewConnection.run(readRevision());
  } catch (error) {
    viewConnection.close();
    throw error;
  }
  views.set(view, viewConnection);
  return null;
}

function viewOf(view: number): SqliteConnection {
  const found = views.get(view);
  if (found === undefined) throw new Error(`view ${view} is not open`);
  return found;
}
