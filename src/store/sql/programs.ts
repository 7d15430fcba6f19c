import { applyWriteSetAlone } from './apply-write-set.ts';
import { probeWrite, readCommit } from './commit-rows.ts';
import { claimLanes, readDueLanes, renewLanes, wakeLanes } from './delivery-claims.ts';
import { putDeliveries } from './delivery-enqueue.ts';
import { pruneDeliveries, pruneEventsAndLanes, readAgedParts } from './delivery-prune.ts';
import { listReplayable, replayDeliveries } from './delivery-replay.ts';
import { getDelivery, listDeliveries, listPendingTypes, readDeliverySeq } from './delivery-rows.ts';
import { settleLane } from './delivery-settle.ts';
import { countEvents, getEvent, listEvents } from './event-rows.ts';
import { readIdempotency } from './idempotency-rows.ts';
import { readLedger } from './lane-rows.ts';
import {
  getLease,
  listLeases,
  putLeases,
  removeLeases,
  removeLeasesByCredential,
  removeLeasesOfOtherBoots,
  renewLeases,
} from './lease-rows.ts';
import { claimLoginRefresh, releaseLoginRefresh, replaceLoginTokens, touchLogins } from './login-activity.ts';
import { readLoginChangesSince, readLoginSeq } from './login-change-rows.ts';
import { claimLoginOnce } from './login-claims.ts';
import {
  deleteLoginSession,
  deleteLoginUser,
  endLoginsByKey,
  endLoginsByProvider,
  endOrphanedLogins,
  pruneLogins,
} from './login-ends.ts';
import {
  findLoginsByKey,
  getLoginSession,
  getLoginUser,
  listLoginEdgeIds,
  listLoginSessions,
  listLoginUsers,
} from './login-rows.ts';
import { prune } from './prune.ts';
import { recordEvents } from './record-events.ts';
import { recordLogin } from './record-login.ts';
import { readRecordPage } from './record-rows.ts';
import { readChangesSince, readRevision } from './revision-rows.ts';
import type { Program } from './statement.ts';

/** Everything that a store asks of its engine, by name, so that a request can be sent to another thread. */
export const programs = {
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

/** A job that waits to be written. `epoch`: of the history that it was decided on. */
export interface QueuedJob extends Job {
  readonly epoch: number;
}

export function startProgram({ name, args }: Job): Program<unknown> {
  // Whoever made the job went through `SqlEngine`, which ties the arguments to the name.
  const program = programs[name] as (...args: readonly unknown[]) => Program<unknown>;
  return program(...args);
}
