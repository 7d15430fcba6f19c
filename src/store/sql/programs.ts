import {
  addCommit,
  type CommitMark,
  probeWrite,
  provePosition,
  pruneCommits,
  readCommit,
  type StorePosition,
} from './commit-rows.ts';
import { claimLanes, readDueLanes, renewLanes, settleLane, wakeLanes } from './deliveries/delivery-claims.ts';
import { listReplayable, putDeliveries, replayDeliveries } from './deliveries/delivery-enqueue.ts';
import { pruneDeliveries, pruneEventsAndLanes, readAgedParts } from './deliveries/delivery-prune.ts';
import {
  countEvents,
  getDelivery,
  getEvent,
  listDeliveries,
  listEvents,
  listPendingTypes,
  readDeliverySeq,
} from './deliveries/delivery-rows.ts';
import { readLedger } from './deliveries/lane-rows.ts';
import {
  linkHistory,
  listHistory,
  pruneHistory,
  readAnchor,
  readHistory,
  readHistoryFollowing,
  readHistoryItems,
  readUnlinked,
} from './history-store.ts';
import {
  beginIdentitySession,
  claimIdentityLogouts,
  consumeArtifact,
  endIdentityApplication,
  endIdentitySession,
  findArtifact,
  findIdentitySession,
  hasDueLogouts,
  listArtifacts,
  pruneArtifacts,
  pruneIdentityLogouts,
  putArtifact,
  rememberDecision,
  removeArtifact,
  removeGrant,
  replaceIdentitySession,
  settleIdentityLogouts,
} from './identity-store.ts';
import {
  claimLoginOnce,
  deleteLoginSession,
  deleteLoginUser,
  endLoginsByKey,
  endLoginsByProvider,
  endOrphanedLogins,
  hasLoginChanges,
  pruneLoginChanges,
  pruneLoginClaims,
  pruneLogins,
  readLoginChangesSince,
  readLoginSeq,
} from './logins/login-ends.ts';
import {
  claimLoginRefresh,
  findLoginsByKey,
  getLoginSession,
  getLoginUser,
  listLoginEdgeIds,
  listLoginSessions,
  listLoginUsers,
  recordLogin,
  releaseLoginRefresh,
  replaceLoginTokens,
  touchLogins,
} from './logins/login-store.ts';
import {
  agreeOnFacts,
  claimKey,
  heartbeatNode,
  listClaimsOf,
  listNodes,
  listSessionsOf,
  moveNodeSession,
  pruneNodes,
  putNodeSession,
  readClaim,
  readNodeSession,
  releaseClaims,
  removeNode,
  removeNodeSession,
  renewNodeFor,
} from './node-store.ts';
import {
  getLease,
  listLeases,
  pruneLeases,
  putLeases,
  removeLeases,
  removeLeasesByCredential,
  removeLeasesOfOtherBoots,
  renewLeases,
} from './presence-store.ts';
import { applyWriteSet, applyWriteSetAlone } from './records/apply-write-set.ts';
import { readReleased } from './records/judge-references.ts';
import {
  IDEMPOTENCY_WINDOW_MS,
  pruneChanges,
  readChangesSince,
  readIdempotency,
  readRecordPage,
  readRevision,
} from './records/record-rows.ts';
import { type CallerTime, type Program, statement } from './statement.ts';
import { recordEvents, WriteGroup } from './write-group.ts';

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
  listEvents,
  getEvent,
  countEvents,
  putLeases,
  renewLeases,
  removeLeases,
  removeLeasesByCredential,
  removeLeasesOfOtherBoots,
  getLease,
  listLeases,
  recordLogin,
  findLoginsByKey,
  getLoginUser,
  getLoginSession,
  listLoginUsers,
  listLoginSessions,
  listLoginEdgeIds,
  touchLogins,
  claimLoginOnce,
  claimLoginRefresh,
  releaseLoginRefresh,
  replaceLoginTokens,
  deleteLoginSession,
  deleteLoginUser,
  endLoginsByKey,
  endLoginsByProvider,
  endOrphanedLogins,
  pruneLogins,
  readLoginChangesSince,
  readLoginSeq,
  recordEvents,
  putDeliveries,
  getDelivery,
  listDeliveries,
  listPendingTypes,
  readDeliverySeq,
  listReplayable,
  replayDeliveries,
  readDueLanes,
  claimLanes,
  renewLanes,
  wakeLanes,
  settleLane,
  readLedger,
  readAgedParts,
  pruneDeliveries,
  pruneEventsAndLanes,
  heartbeatNode,
  renewNodeFor,
  removeNode,
  listNodes,
  agreeOnFacts,
  claimKey,
  releaseClaims,
  readClaim,
  listClaimsOf,
  putNodeSession,
  readNodeSession,
  moveNodeSession,
  removeNodeSession,
  listSessionsOf,
  listHistory,
  readHistory,
  readHistoryFollowing,
  readHistoryItems,
  readUnlinked,
  linkHistory,
  readAnchor,
  pruneHistory,
  readReleased,
  beginIdentitySession,
  replaceIdentitySession,
  putArtifact,
  rememberDecision,
  findArtifact,
  findIdentitySession,
  listArtifacts,
  consumeArtifact,
  removeArtifact,
  removeGrant,
  endIdentityApplication,
  endIdentitySession,
  hasDueLogouts,
  claimIdentityLogouts,
  settleIdentityLogouts,
} as const;

type Programs = typeof programs;
export type ProgramName = keyof Programs;
export type ProgramArgs<Name extends ProgramName> = Parameters<Programs[Name]>;
export type ProgramResult<Name extends ProgramName> =
  ReturnType<Programs[Name]> extends Program<infer Result> ? Result : never;

export interface Job {
  readonly name: ProgramName;
  readonly args: readonly unknown[];
}

/** A job waiting to be written. `epoch`: the history that it was decided on. */
export interface QueuedJob extends Job {
  readonly epoch: number;
}

export function startProgram({ name, args }: Job): Program<unknown> {
  // `SqlEngine` created the job and ties the arguments to the name.
  const program = programs[name] as (...args: readonly unknown[]) => Program<unknown>;
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
