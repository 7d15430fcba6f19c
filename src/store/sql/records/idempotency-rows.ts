import type { IdempotencyRecord } from '../../store.ts';
import { execute, integer, type Program, queryOne, text } from '../statements/statement.ts';

export const IDEMPOTENCY_WINDOW_MS = 24 * 60 * 60 * 1000;

/** Returns a record of any age: the caller knows the time. */
export function* readIdempotency(scope: string): Program<IdempotencyRecord | null> {
  const row = yield* queryOne('SELECT scope, body_hash, kind, id, created_at_ms FROM idempotency WHERE scope = ?', [
    scope,
  ]);
  if (row === null) return null;
  return {
    scope: text(row, 'scope'),
    bodyHash: text(row, 'body_hash'),
    kind: text(row, 'kind'),
    id: text(row, 'id'),
    createdAtMs: integer(row, 'created_at_ms'),
  };
}

export function* writeIdempotency({ scope, bodyHash, kind, id, createdAtMs }: IdempotencyRecord): Program<void> {
  yield* execute(
    `INSERT INTO idempotency (scope, body_hash, kind, id, created_at_ms) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (scope) DO UPDATE SET body_hash = excluded.body_hash, kind = excluded.kind, id = excluded.id,
      created_at_ms = excluded.created_at_ms`,
    [scope, bodyHash, kind, id, createdAtMs],
  );
}
