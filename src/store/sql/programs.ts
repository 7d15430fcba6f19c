import { probeWrite, readCommit } from './commits/commit-rows.ts';
import { readChangesSince, readRevision } from './commits/revision-rows.ts';
import { claimLanes, readDueLanes, renewLanes, wakeLanes } from './deliveries/delivery-claims.ts';
import { putDeliveries } from './deliveries/delivery-enqueue.ts';
import { pruneDeliveries, pruneEventsAndLanes, readAgedParts } from './deliveries/delivery-prune.ts';
import { listReplayable, replayDeliveries } from './deliveries/delivery-replay.ts';
import { getDelivery, listDeliveries, listPendingTypes, readDeliverySeq } from './deliveries/delivery-rows.ts';
import { settleLane } from './deliveries/delivery-settle.ts';
import { readLedger } from './deliveries/lane-rows.ts';
import { countEvents, getEvent, listEvents } from './events/event-rows.ts';
import { recordEvents } from './events/record-events.ts';
import {
  linkHistory,
  listHistory,
  pruneHistory,
  readAnchor,
  readHistory,
  readHistoryFollowing,
  readHistoryItems,
  readUnlinked,
} from './history/history-rows.ts';
import {
  beginIdentitySession,
  consumeArtifact,
  findArtifact,
  findIdentitySession,
  listArtifacts,
  putArtifact,
  rememberDecision,
  removeArtifact,
  replaceIdentitySession,
} from './identity/artifact-rows.ts';
import {
  claimIdentityLogouts,
  endIdentityApplication,
  endIdentitySession,
  hasDueLogouts,
  removeGrant,
  settleIdentityLogouts,
} from './identity/identity-ends.ts';
import { claimLoginRefresh, releaseLoginRefresh, replaceLoginTokens, touchLogins } from './logins/login-activity.ts';
import { readLoginChangesSince, readLoginSeq } from './logins/login-change-rows.ts';
import { claimLoginOnce } from './logins/login-claims.ts';
import {
  deleteLoginSession,
  deleteLoginUser,
  endLoginsByKey,
  endLoginsByProvider,
  endOrphanedLogins,
  pruneLogins,
} from './logins/login-ends.ts';
import {
  findLoginsByKey,
  getLoginSession,
  getLoginUser,
  listLoginEdgeIds,
  listLoginSessions,
  listLoginUsers,
} from './logins/login-rows.ts';
import { recordLogin } from './logins/record-login.ts';
import { agreeOnFacts } from './nodes/agreement-rows.ts';
import { claimKey, listClaimsOf, readClaim, releaseClaims } from './nodes/claim-rows.ts';
import { heartbeatNode, listNodes, removeNode, renewNodeFor } from './nodes/node-rows.ts';
import {
  listSessionsOf,
  moveNodeSession,
  putNodeSession,
  readNodeSession,
  removeNodeSession,
} from './nodes/session-rows.ts';
import { readReleased } from './pending/let-go.ts';
import {
  getLease,
  listLeases,
  putLeases,
  removeLeases,
  removeLeasesByCredential,
  removeLeasesOfOtherBoots,
  renewLeases,
} from './presence/lease-rows.ts';
import { prune } from './prune.ts';
import { applyWriteSetAlone } from './records/apply-write-set.ts';
import { readIdempotency } from './records/idempotency-rows.ts';
import { readRecordPage } from './records/record-rows.ts';
import type { Program } from './statements/statement.ts';

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
