import type { LoginChange, LoginChangesSince, LoginClientId, ProviderLogout } from '../../store.ts';
import { readCounter, withCounters } from '../records/record-rows.ts';
import {
  chunks,
  insertRows,
  integer,
  type Program,
  queryOne,
  type SqlValue,
  statement,
  text,
  tupleList,
} from '../statement.ts';

/** Every end of a grant goes through here, so that each is logged. */
export function* endLogins(where: string, params: readonly SqlValue[]): Program<readonly LoginChange[]> {
  const rows = yield statement(`DELETE FROM app_sessions WHERE ${where} RETURNING id, key_hash`, params);
  const ended = rows
    .map((row): LoginChange => ({ op: 'end', sessionId: text(row, 'id'), keyHash: text(row, 'key_hash') }))
    .sort((one, other) => (one.sessionId < other.sessionId ? -1 : 1));
  yield* logLoginChanges(ended);
  return ended;
}

export function* deleteLoginSession(id: string): Program<readonly LoginChange[]> {
  return yield* endLogins('id = ?', [id]);
}

interface DeletedUser {
  readonly isDeleted: boolean;
  readonly changes: readonly LoginChange[];
}

export function* deleteLoginUser(id: string): Program<DeletedUser> {
  const changes = yield* endLogins('user_id = ?', [id]);
  const rows = yield statement('DELETE FROM app_users WHERE id = ? RETURNING id', [id]);
  return { isDeleted: rows.length > 0, changes };
}

export function* endLoginsByKey(keyHash: string): Program<readonly LoginChange[]> {
  return yield* endLogins('key_hash = ?', [keyHash]);
}

/**
 * In one transaction with the use of its token: a logout that could not be written may be sent again. Null: used
 * before.
 */
export function* endLoginsByProvider(logout: ProviderLogout): Program<readonly LoginChange[] | null> {
  const { issuer, clientId, identity, providerSessionId, token } = logout;
  if (token !== null && !(yield* claimLoginOnce(token.key, token.validUntilMs))) return null;
  // Such a logout identifies nobody; without this line it would match everybody.
  if (identity === null && providerSessionId === null) return [];
  const conditions = ['issuer = ?', 'client_id = ?'];
  const params = [issuer, clientId];
  if (providerSessionId !== null) {
    // Not every provider names its session in the ID token: such a login ends by the user alone.
    const isUnnamed = identity === null ? '' : ' OR provider_session_id IS NULL';
    conditions.push(`(provider_session_id = ?${isUnnamed})`);
    params.push(providerSessionId);
  }
  if (identity !== null) {
    conditions.push('user_id IN (SELECT id FROM app_users WHERE identity = ?)');
    params.push(identity);
  }
  return yield* endLogins(conditions.join(' AND '), params);
}

export function* endOrphanedLogins(edgeId: string, kept: readonly LoginClientId[]): Program<readonly LoginChange[]> {
  const rows = yield statement('SELECT DISTINCT issuer, client_id FROM app_sessions WHERE edge_id = ?', [edgeId]);
  const ended: LoginChange[] = [];
  for (const row of rows) {
    const [issuer, clientId] = [text(row, 'issuer'), text(row, 'client_id')];
    if (kept.some((client) => client.issuer === issuer && client.clientId === clientId)) continue;
    const params = [edgeId, issuer, clientId];
    ended.push(...(yield* endLogins('edge_id = ? AND issuer = ? AND client_id = ?', params)));
  }
  return ended;
}

/** At most `limit`, so that other writers get a turn. */
export function* pruneLogins(nowMs: number, unusedSinceMs: number, limit: number): Program<readonly LoginChange[]> {
  const rows = yield statement(
    'SELECT id FROM app_sessions WHERE last_active_ms < ? OR (expires_at_ms > 0 AND expires_at_ms <= ?) LIMIT ?',
    [unusedSinceMs, nowMs, limit],
  );
  const ended: LoginChange[] = [];
  for (const chunk of chunks(rows)) {
    const ids = chunk.map((row) => text(row, 'id'));
    ended.push(...(yield* endLogins(`id IN (VALUES ${tupleList(ids.map(() => ['']))})`, ids)));
  }
  return ended;
}

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

/** True for the first caller only, across all processes: the primary key decides. */
export function* claimLoginOnce(key: string, expiresAtMs: number): Program<boolean> {
  const claimed = yield* queryOne(
    'INSERT INTO login_claims (key, expires_at_ms) VALUES (?, ?) ON CONFLICT (key) DO NOTHING RETURNING key',
    [key, expiresAtMs],
  );
  return claimed !== null;
}

export function* pruneLoginClaims(nowMs: number): Program<void> {
  yield statement('DELETE FROM login_claims WHERE expires_at_ms <= ?', [nowMs]);
}
