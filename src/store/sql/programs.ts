import type { Job } from '../group-commit.ts';
import {
  addCommit,
  type CommitMark,
  probeWrite,
  provePosition,
  pruneCommits,
  readCommit,
  type StorePosition,
} from './commit-rows.ts';
import { deliveryPrograms, eventPrograms } from './deliveries/delivery-store.ts';
import { historyPrograms } from './history-store.ts';
import { identityPrograms, pruneArtifacts, pruneIdentityLogouts } from './identity-store.ts';
import { hasLoginChanges, pruneLoginChanges, pruneLoginClaims } from './logins/login-ends.ts';
import { loginPrograms } from './logins/login-store.ts';
import { nodePrograms, pruneNodes } from './node-store.ts';
import { presencePrograms, pruneLeases } from './presence-store.ts';
import { applyWriteSet, applyWriteSetAlone } from './records/apply-write-set.ts';
import {
  IDEMPOTENCY_WINDOW_MS,
  pruneChanges,
  readChangesSince,
  readIdempotency,
  readRecordPage,
  readRevision,
} from './records/record-rows.ts';
import type { ResultOf } from './sql-engine.ts';
import { type CallerTime, type Program, statement } from './statement.ts';
import { WriteGroup } from './write-group.ts';

function* prune(time: CallerTime, keepRevisions: number): Program<void> {
  const { nowMs } = time;
  yield* pruneCommits();
  yield* pruneChanges(keepRevisions);
  yield* pruneLoginChanges(keepRevisions);
  yield statement('DELETE FROM idempotency WHERE created_at_ms <= ?', [nowMs - IDEMPOTENCY_WINDOW_MS]);
  yield* pruneLoginClaims(nowMs);
  yield* pruneArtifacts(nowMs);
  yield* pruneIdentityLogouts(nowMs);
  yield* pruneLeases(time);
  yield* pruneNodes(time);
}

/** Everything that a store requests from its engine, by name, so that a request can be sent to another thread. */
const programs = {
  applyWriteSet: applyWriteSetAlone,
  readCommit,
  probeWrite,
  readRevision,
  readChangesSince,
  readRecordPage,
  readIdempotency,
  prune,
  ...eventPrograms,
  ...presencePrograms,
  ...loginPrograms,
  ...deliveryPrograms,
  ...nodePrograms,
  ...historyPrograms,
  ...identityPrograms,
} as const;

export type Programs = typeof programs;
export type ProgramName = keyof Programs;
export type ProgramArgs<Name extends ProgramName> = Parameters<Programs[Name]>;
export type ProgramResult<Name extends ProgramName> = ResultOf<Programs[Name]>;

export function startProgram({ name, args }: Job): Program<unknown> {
  // `SqlEngine` created the job and ties the arguments to the name.
  const program = programs[name as ProgramName] as (...args: readonly unknown[]) => Program<unknown>;
  return program(...args);
}

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
