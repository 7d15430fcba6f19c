import { rfc3339 } from '../../../lib/clock.ts';
import type { JsonObject } from '../../../lib/json.ts';
import type { LoginActivity, LoginChange } from '../../store.ts';
import { parseObject } from '../sealing/seal.ts';
import { integer, type Program, queryForTuples, queryOne, statement, text } from '../statements/statement.ts';
import { type CallerTime, clockShift } from '../statements/store-time.ts';
import { logLoginChanges } from './login-change-rows.ts';
import { type LoginSessionRow, SESSION_COLUMNS, sessionOf } from './login-rows.ts';

/**
 * Activity is written late, by several processes, in any order: so only existing rows, and only forwards. The columns
 * of `VALUES` have the same names in both engines, and PostgreSQL treats parameters there as text unless cast.
 */
const TOUCH_SESSIONS = `UPDATE app_sessions
  SET last_active_ms = CAST(given.column2 AS bigint), expires_at_ms = CAST(given.column3 AS bigint)
  FROM (VALUES %s) AS given
  WHERE app_sessions.id = given.column1 AND app_sessions.last_active_ms <= CAST(given.column2 AS bigint)
  RETURNING user_id, last_active_ms`;

export function* touchLogins(activity: readonly LoginActivity[]): Program<void> {
  // With two entries for one grant, a statement would apply either.
  const newest = new Map<string, LoginActivity>();
  for (const each of activity) {
    if (each.lastActiveMs >= (newest.get(each.id)?.lastActiveMs ?? 0)) newest.set(each.id, each);
  }
  const touched = yield* queryForTuples(
    TOUCH_SESSIONS,
    [...newest.values()].map(({ id, lastActiveMs, expiresAtMs }) => [id, lastActiveMs, expiresAtMs]),
  );
  const activeMs = new Map<string, number>();
  for (const row of touched) {
    const userId = text(row, 'user_id');
    activeMs.set(userId, Math.max(activeMs.get(userId) ?? 0, integer(row, 'last_active_ms')));
  }
  yield* touchUsers(activeMs);
}

function* touchUsers(activeMs: ReadonlyMap<string, number>): Program<void> {
  const users = yield* queryForTuples(
    'SELECT id, doc FROM app_users WHERE id IN (VALUES %s)',
    [...activeMs.keys()].map((id) => [id]),
  );
  const moved = users.flatMap((row) => {
    const [id, doc] = [text(row, 'id'), parseObject(text(row, 'doc'))];
    const lastActive = rfc3339(activeMs.get(id) ?? 0);
    const known = doc['last_active'];
    // Texts of this form sort like the times that they represent.
    if (typeof known === 'string' && known >= lastActive) return [];
    return [[id, JSON.stringify({ ...doc, last_active: lastActive })]];
  });
  yield* queryForTuples(
    'UPDATE app_users SET doc = given.column2 FROM (VALUES %s) AS given WHERE app_users.id = given.column1',
    moved,
  );
}

export function* claimLoginRefresh(id: string, time: CallerTime, untilMs: number): Program<boolean> {
  const shiftMs = yield* clockShift(time);
  const claimed = yield* queryOne(
    'UPDATE app_sessions SET refresh_claim_until_ms = ? WHERE id = ? AND refresh_claim_until_ms <= ? RETURNING id',
    [untilMs + shiftMs, id, time.nowMs + shiftMs],
  );
  return claimed !== null;
}

export function* releaseLoginRefresh(id: string): Program<void> {
  yield statement('UPDATE app_sessions SET refresh_claim_until_ms = 0 WHERE id = ?', [id]);
}

export interface LoginTokensRow {
  readonly doc: string;
  readonly secrets: string | null;
  readonly user?: JsonObject;
}

export interface ReplacedTokens {
  readonly session: LoginSessionRow | null;
  readonly changes: readonly LoginChange[];
}

export function* replaceLoginTokens(
  id: string,
  expectedVersion: number,
  { doc, secrets, user }: LoginTokensRow,
): Program<ReplacedTokens> {
  const row = yield* queryOne(
    `UPDATE app_sessions SET doc = ?, secrets = ?, version = version + 1, refresh_claim_until_ms = 0
    WHERE id = ? AND version = ? RETURNING ${SESSION_COLUMNS}`,
    [doc, secrets, id, expectedVersion],
  );
  if (row === null) return { session: null, changes: [] };
  const session = sessionOf(row);
  if (user !== undefined) yield* changeUser(session.userId, user);
  const changes: readonly LoginChange[] = [{ op: 'put', sessionId: id, keyHash: session.keyHash }];
  yield* logLoginChanges(changes);
  return { session, changes };
}

function* changeUser(id: string, fields: JsonObject): Program<void> {
  const row = yield* queryOne('SELECT doc FROM app_users WHERE id = ?', [id]);
  // A grant is deleted with its user, so the user exists.
  if (row === null) return;
  const doc = { ...parseObject(text(row, 'doc')), ...fields };
  yield statement('UPDATE app_users SET doc = ? WHERE id = ?', [JSON.stringify(doc), id]);
}
