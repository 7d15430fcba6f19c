import type { LoginChange, LoginClientId, ProviderLogout } from '../../store.ts';
import { chunks, type Program, type SqlValue, statement, text, tupleList } from '../statements/statement.ts';
import { logLoginChanges } from './login-change-rows.ts';
import { claimLoginOnce } from './login-claims.ts';

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

export interface DeletedUser {
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

/** In one transaction with the use of its token: a logout that could not be written may be sent again. Null: used before. */
export function* endLoginsByProvider(logout: ProviderLogout): Program<readonly LoginChange[] | null> {
  const { issuer, clientId, identity, providerSessionId, token } = logout;
  if (token !== null && !(yield* claimLoginOnce(token.key, token.validUntilMs))) return null;
  // It identifies nobody; without this line it would match everybody.
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
