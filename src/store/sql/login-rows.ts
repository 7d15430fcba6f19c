import type { LoginSession, PageQuery } from '../store.ts';
import { pageStatement } from './page-statement.ts';
import { integer, type Program, queryOne, type Row, statement, text, textOrNull } from './statement.ts';

export interface LoginUserRow {
  readonly id: string;
  readonly doc: string;
}

export interface LoginSessionRow extends Omit<LoginSession, 'doc' | 'secrets'> {
  readonly doc: string;
  readonly secrets: string | null;
}

const SESSION_COLUMNS = 'id, user_id, key_hash, last_active_ms, expires_at_ms, doc, secrets';

function userOf(row: Row): LoginUserRow {
  return { id: text(row, 'id'), doc: text(row, 'doc') };
}

function sessionOf(row: Row): LoginSessionRow {
  return {
    id: text(row, 'id'),
    userId: text(row, 'user_id'),
    keyHash: text(row, 'key_hash'),
    lastActiveMs: integer(row, 'last_active_ms'),
    expiresAtMs: integer(row, 'expires_at_ms'),
    doc: text(row, 'doc'),
    secrets: textOrNull(row, 'secrets'),
  };
}

export function* putLoginUser({ id, doc }: LoginUserRow): Program<void> {
  yield statement('INSERT INTO login_users (id, doc) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET doc = excluded.doc', [
    id,
    doc,
  ]);
}

export function* putLoginSession(session: LoginSessionRow): Program<void> {
  yield statement(
    `INSERT INTO login_sessions (${SESSION_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET user_id = excluded.user_id, key_hash = excluded.key_hash,
      last_active_ms = excluded.last_active_ms, expires_at_ms = excluded.expires_at_ms, doc = excluded.doc,
      secrets = excluded.secrets`,
    [
      session.id,
      session.userId,
      session.keyHash,
      session.lastActiveMs,
      session.expiresAtMs,
      session.doc,
      session.secrets,
    ],
  );
}

export function* getLoginUser(id: string): Program<LoginUserRow | null> {
  const row = yield* queryOne('SELECT id, doc FROM login_users WHERE id = ?', [id]);
  return row === null ? null : userOf(row);
}

export function* getLoginSession(id: string): Program<LoginSessionRow | null> {
  const row = yield* queryOne(`SELECT ${SESSION_COLUMNS} FROM login_sessions WHERE id = ?`, [id]);
  return row === null ? null : sessionOf(row);
}

export function* listLoginUsers(query: PageQuery): Program<LoginUserRow[]> {
  const rows = yield pageStatement('SELECT id, doc FROM login_users', [], query);
  return rows.map(userOf);
}

export function* listLoginSessions(query: PageQuery & { readonly nowMs: number }): Program<LoginSessionRow[]> {
  const rows = yield pageStatement(
    `SELECT ${SESSION_COLUMNS} FROM login_sessions`,
    [{ sql: '(expires_at_ms = 0 OR expires_at_ms > ?)', param: query.nowMs }],
    query,
  );
  return rows.map(sessionOf);
}

export function* deleteLoginSession(id: string): Program<boolean> {
  const rows = yield statement('DELETE FROM login_sessions WHERE id = ? RETURNING id', [id]);
  return rows.length > 0;
}

export function* deleteLoginUser(id: string): Program<boolean> {
  yield statement('DELETE FROM login_sessions WHERE user_id = ?', [id]);
  const rows = yield statement('DELETE FROM login_users WHERE id = ? RETURNING id', [id]);
  return rows.length > 0;
}
