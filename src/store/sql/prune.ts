import { pruneCommits } from './commit-rows.ts';
import { IDEMPOTENCY_WINDOW_MS } from './idempotency-rows.ts';
import { pruneLeases } from './lease-rows.ts';
import { pruneLoginChanges } from './login-change-rows.ts';
import { pruneLoginClaims } from './login-claims.ts';
import { pruneChanges } from './revision-rows.ts';
import { type Program, statement } from './statement.ts';
import type { CallerTime } from './store-time.ts';

export function* prune(time: CallerTime, keepRevisions: number): Program<void> {
  const { nowMs } = time;
  yield* pruneCommits();
  yield* pruneChanges(keepRevisions);
  yield* pruneLoginChanges(keepRevisions);
  yield statement('DELETE FROM idempotency WHERE created_at_ms <= ?', [nowMs - IDEMPOTENCY_WINDOW_MS]);
  yield* pruneLoginClaims(nowMs);
  yield* pruneLeases(time);
}
