import { pruneCommits } from './commits/commit-rows.ts';
import { pruneChanges } from './commits/revision-rows.ts';
import { pruneArtifacts } from './identity/artifact-rows.ts';
import { pruneIdentityLogouts } from './identity/identity-ends.ts';
import { pruneLoginChanges } from './logins/login-change-rows.ts';
import { pruneLoginClaims } from './logins/login-claims.ts';
import { pruneNodes } from './nodes/node-rows.ts';
import { pruneLeases } from './presence/lease-rows.ts';
import { IDEMPOTENCY_WINDOW_MS } from './records/idempotency-rows.ts';
import { type Program, statement } from './statements/statement.ts';
import type { CallerTime } from './statements/store-time.ts';

export function* prune(time: CallerTime, keepRevisions: number): Program<void> {
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
