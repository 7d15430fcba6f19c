import type { LoginChange, LoginChangesSince } from '../../store.ts';
import { readCounter, withCounters } from '../commits/revision-rows.ts';
import { insertRows, integer, type Program, queryOne, statement, text } from '../statements/statement.ts';

export function* readLoginSeq(): Program<number> {
  return yield* readCounter('app_session_seq');
}

/** Only under the writers' lock, like revisions: so a follower that has seen a number has seen all below it. */
export function* logLoginChanges(changes: readonly LoginChange[]): Program<void> {
  if (changes.length === 0) return;
  const row = yield* queryOne("UPDATE counter SET value = value + ? WHERE name = 'app_session_seq' RETURNING value", [
    changes.length,
  ]);
  if (row === null) throw new Error('the store has no counter app_session_seq');
  const first = integer(row, 'value') - changes.length + 1;
  yield* insertRows(
    'app_session_changes',
    ['seq', 'session_id', 'key_hash', 'op'],
    changes.map(({ sessionId, keyHash, op }, at) => [first + at, sessionId, keyHash, op]),
  );
}

/** Whether a program that may end, move or add logins did so: each returns the changes that it logged. */
export function hasLoginChanges(answer: unknown): boolean {
  const changes = Array.isArray(answer) ? answer : (answer as { readonly changes?: unknown } | null)?.changes;
  return Array.isArray(changes) && changes.length > 0 && (changes[0] as Partial<LoginChange>).keyHash !== undefined;
}

/**
 * A follower ahead of the store (a backup was restored) must read everything again, like one that is behind the log.
 */
export function* readLoginChangesSince(seq: number): Program<LoginChangesSince> {
  const [current, floor, ...rows] = yield* withCounters(
    'app_session_seq',
    'app_session_changes_floor',
    statement('SELECT session_id, key_hash, op FROM app_session_changes WHERE seq > ? ORDER BY seq', [seq]),
  );
  if (seq === current) return { isComplete: true, seq, changes: [] };
  if (seq < floor || seq > current) return { isComplete: false, seq: current, changes: [] };
  const changes = rows.map(
    (row): LoginChange => ({
      op: text(row, 'op') as LoginChange['op'],
      sessionId: text(row, 'session_id'),
      keyHash: text(row, 'key_hash'),
    }),
  );
  return { isComplete: true, seq: current, changes };
}

/** Deletes changes that are more than `keep` old. */
export function* pruneLoginChanges(keep: number): Program<void> {
  const floor = (yield* readLoginSeq()) - keep;
  if (floor <= (yield* readCounter('app_session_changes_floor'))) return;
  yield statement('DELETE FROM app_session_changes WHERE seq <= ?', [floor]);
  yield statement("UPDATE counter SET value = ? WHERE name = 'app_session_changes_floor'", [floor]);
}
