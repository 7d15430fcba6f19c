import { hasLoginChanges } from '../logins/login-change-rows.ts';
import { type Job, type ProgramArgs, startProgram } from '../programs.ts';
import { applyWriteSet } from '../records/apply-write-set.ts';
import type { Program } from '../statements/statement.ts';
import { addCommit, type CommitMark, provePosition, type StorePosition } from './commit-rows.ts';
import { WriteGroup } from './write-group.ts';

export interface GroupAnswers {
  readonly answers: readonly unknown[];
  readonly before: StorePosition;
  /** The store's position once the transaction is durable. */
  readonly after: StorePosition;
  /** Logins began, moved or ended: processes that know them must hear of it. */
  readonly isLoginNews: boolean;
}

/**
 * Runs the jobs of one transaction in order and returns each result. Write sets combine their writes. Nothing is
 * written to a database that lacks what this process has `seen`.
 */
export function* runJobs(jobs: readonly Job[], seen: CommitMark): Program<GroupAnswers> {
  const before = yield* provePosition(seen);
  const group = new WriteGroup();
  const answers: unknown[] = [];
  let revision = before.revision;
  let isWritten = false;
  let isLoginNews = false;
  for (const job of jobs) {
    if (job.name === 'applyWriteSet') {
      const [writeSet] = job.args as ProgramArgs<'applyWriteSet'>;
      const answer = yield* applyWriteSet(writeSet, group);
      if (answer.ok) revision = Math.max(revision, answer.revision);
      isWritten ||= answer.ok;
      isLoginNews ||= answer.ok && answer.logins.length > 0;
      answers.push(answer);
    } else {
      yield* group.flush();
      const answer = yield* startProgram(job);
      answers.push(answer);
      isWritten = true;
      isLoginNews ||= hasLoginChanges(answer);
    }
  }
  yield* group.flush();
  // Refusals alone write nothing, and need no fsync.
  const commit = isWritten ? yield* addCommit(before.commit) : before.commit;
  return { answers, before, after: { revision, commit }, isLoginNews };
}
