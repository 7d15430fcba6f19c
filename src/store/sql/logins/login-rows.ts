import type { LoginSession, PageQuery } from '../../store.ts';
import { pageStatement } from '../statements/page-statement.ts';
import { integer, type Program, queryOne, type Row, statement, text, textOrNull } from '../statements/statement.ts';

export interface LoginUserRow {
  readonly id: string;
  readonly doc: string;
}

export interface LoginSessionRow extends Omit<LoginSession, 'doc' | 'secrets'> {
  readonly doc: string;
  readonly secrets: string | null;
}

export const SESSION_COLUMN_NAMES = [
  'id',
  'user_id',
  'key_hash',
  'edge_id',
  'issuer',
  'client_id',
  'provider_session_id',
  'last_active_ms',
  'expires_at_ms',
  'version',
  'doc',
  'secrets',
];
export const SESSION_COLUMNS = SESSION_COLUMN_NAMES.join(', ');

function userOf(row: Row): LoginUserRow {
  return { id: text(row, 'id'), doc: text(row, 'doc') };
}

export function sessionOf(row: Row): LoginSessionRow {
  return {
    id: text(row, 'id'),
    userId: text(row, 'user_id'),
    keyHash: text(row, 'key_hash'),
    edgeId: text(row, 'edge_id'),
    issuer: text(row, 'issuer'),
    clientId: text(row, 'client_id'),
    providerSessionId: textOrNull(row, 'provider_session_id'),
    lastActiveMs: integer(row, 'last_active_ms'),
    expiresAtMs: integer(row, 'expires_at_ms'),
    version: integer(row, 'version'),
    doc: text(row, 'doc'),
    secrets: textOrNull(row, 'secrets'),
  };
}

export function* getLoginUser(id: string): Program<LoginUserRow | null> {
  const row = yield* queryOne('SELECT id, doc FROM app_users WHERE id = ?', [id]);
  return row === null ? null : userOf(row);
}

export function* getLoginSession(id: string): Program<LoginSessionRow | null> {
  const row = yield* queryOne(`SELECT ${SESSION_COLUMNS} FROM app_sessions WHERE id = ?`, [id]);
  return row === null ? null : sessionOf(row);
}

export function* findLoginsByKey(keyHash: string): Program<LoginSessionRow[]> {
  const rows = yield statement(`SELECT ${SESSION_COLUMNS} FROM app_sessions WHERE key_hash = ? ORDER BY id`, [keyHash]);
  return rows.map(sessionOf);
}

export function* listLoginUsers(query: PageQuery): Program<LoginUserRow[]> {
  const rows = yield pageStatement('SELECT id, doc FROM app_users', [], query);
  return rows.map(userOf);
}

export function* listLoginSessions(query: PageQuery & { readonly nowMs: number }): Program<LoginSessionRow[]> {
  const rows = yield pageStatement(
    `SELECT ${SESSION_COLUMNS} FROM app_sessions`,
    [{ sql: '(expires_at_ms = 0 OR expires_at_ms > ?)', param: query.nowMs }],
    query,
  );
  return rows.map(sessionOf);
}

export function* listLoginEdgeIds(): Program<string[]> {
  const rows = yield statement('SELECT DISTINCT edge_id FROM app_sessions ORDER BY edge_id');
  return rows.map((row) => text(row, 'edge_id'));
}
