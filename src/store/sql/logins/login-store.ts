import { rfc3339 } from '../../../kit/clock.ts';
import type { JsonObject } from '../../../kit/json.ts';
import type { Keyring } from '../../keyring.ts';
import type {
  LoginActivity,
  LoginChange,
  LoginListener,
  LoginSession,
  LoginStore,
  LoginUser,
  NewLogin,
  PageQuery,
  Secrets,
} from '../../store.ts';
import { notifyListeners } from '../listeners.ts';
import { openSecrets, parseObject, sealSecrets } from '../seal.ts';
import type { SqlEngine } from '../sql-engine.ts';
import {
  type CallerTime,
  clockShift,
  insertRows,
  integer,
  type Program,
  pageStatement,
  queryForTuples,
  queryOne,
  type Row,
  statement,
  type TimeAt,
  text,
  textOrNull,
} from '../statement.ts';
import {
  claimLoginOnce,
  deleteLoginSession,
  deleteLoginUser,
  endLogins,
  endLoginsByKey,
  endLoginsByProvider,
  endOrphanedLogins,
  logLoginChanges,
  pruneLogins,
  readLoginChangesSince,
  readLoginSeq,
} from './login-ends.ts';

export interface LoginUserRow {
  readonly id: string;
  readonly doc: string;
}

export interface LoginSessionRow extends Omit<LoginSession, 'doc' | 'secrets'> {
  readonly doc: string;
  readonly secrets: string | null;
}

const SESSION_COLUMN_NAMES = [
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
const SESSION_COLUMNS = SESSION_COLUMN_NAMES.join(', ');

function userOf(row: Row): LoginUserRow {
  return { id: text(row, 'id'), doc: text(row, 'doc') };
}

function sessionOf(row: Row): LoginSessionRow {
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

function* getLoginUser(id: string): Program<LoginUserRow | null> {
  const row = yield* queryOne('SELECT id, doc FROM app_users WHERE id = ?', [id]);
  return row === null ? null : userOf(row);
}

function* getLoginSession(id: string): Program<LoginSessionRow | null> {
  const row = yield* queryOne(`SELECT ${SESSION_COLUMNS} FROM app_sessions WHERE id = ?`, [id]);
  return row === null ? null : sessionOf(row);
}

function* findLoginsByKey(keyHash: string): Program<LoginSessionRow[]> {
  const rows = yield statement(`SELECT ${SESSION_COLUMNS} FROM app_sessions WHERE key_hash = ? ORDER BY id`, [keyHash]);
  return rows.map(sessionOf);
}

function* listLoginUsers(query: PageQuery): Program<LoginUserRow[]> {
  const rows = yield pageStatement('SELECT id, doc FROM app_users', [], query);
  return rows.map(userOf);
}

function* listLoginSessions(query: PageQuery & { readonly nowMs: number }): Program<LoginSessionRow[]> {
  const rows = yield pageStatement(
    `SELECT ${SESSION_COLUMNS} FROM app_sessions`,
    [{ sql: '(expires_at_ms = 0 OR expires_at_ms > ?)', param: query.nowMs }],
    query,
  );
  return rows.map(sessionOf);
}

function* listLoginEdgeIds(): Program<string[]> {
  const rows = yield statement('SELECT DISTINCT edge_id FROM app_sessions ORDER BY edge_id');
  return rows.map((row) => text(row, 'edge_id'));
}

export interface NewLoginRow extends Omit<NewLogin, 'session'> {
  readonly session: Omit<LoginSessionRow, 'userId' | 'version'>;
}

export interface RecordedLogin {
  readonly sessions: readonly LoginSessionRow[];
  readonly changes: readonly LoginChange[];
}

const FIRST_VERSION = 1;

function* recordLogin({ session, previousKeyHash, replaces, ...user }: NewLoginRow): Program<RecordedLogin> {
  const userId = yield* putUser(user);
  const ended = previousKeyHash === null ? [] : yield* endReplaced(previousKeyHash, replaces);
  const moved = previousKeyHash === null ? [] : yield* moveGrants(previousKeyHash, session.keyHash);
  yield* insertRows(
    'app_sessions',
    [...SESSION_COLUMN_NAMES, 'refresh_claim_until_ms'],
    [
      [
        session.id,
        userId,
        session.keyHash,
        session.edgeId,
        session.issuer,
        session.clientId,
        session.providerSessionId,
        session.lastActiveMs,
        session.expiresAtMs,
        FIRST_VERSION,
        session.doc,
        session.secrets,
        0,
      ],
    ],
  );
  const put = [...moved, session.id].map(
    (sessionId): LoginChange => ({ op: 'put', sessionId, keyHash: session.keyHash }),
  );
  yield* logLoginChanges(put);
  return { sessions: yield* findLoginsByKey(session.keyHash), changes: [...ended, ...put] };
}

/** Two first logins of one identity: because of the writers' lock, the second finds what the first has written. */
function* putUser({
  identity,
  newUserId,
  userDoc,
}: Pick<NewLogin, 'identity' | 'newUserId' | 'userDoc'>): Program<string> {
  const existing = yield* queryOne('SELECT id, doc FROM app_users WHERE identity = ?', [identity]);
  if (existing === null) {
    yield statement('INSERT INTO app_users (id, identity, doc) VALUES (?, ?, ?)', [
      newUserId,
      identity,
      JSON.stringify(userDoc),
    ]);
    return newUserId;
  }
  const id = text(existing, 'id');
  const doc = { ...userDoc, ...keptFields(userDoc, parseObject(text(existing, 'doc'))) };
  yield statement('UPDATE app_users SET doc = ? WHERE id = ?', [JSON.stringify(doc), id]);
  return id;
}

/** A login that asked for less must not erase what is known: an empty text keeps the known one. */
function keptFields(doc: JsonObject, { created_at: createdAt, ...known }: JsonObject): JsonObject {
  const texts = Object.entries(known).filter(([name]) => doc[name] === '');
  return { ...Object.fromEntries(texts), ...(createdAt !== undefined && { created_at: createdAt }) };
}

function* endReplaced(previousKeyHash: string, replaces: readonly string[]): Program<readonly LoginChange[]> {
  if (replaces.length === 0) return [];
  const ids = replaces.map(() => '?').join(', ');
  return yield* endLogins(`key_hash = ? AND id IN (${ids})`, [previousKeyHash, ...replaces]);
}

function* moveGrants(from: string, to: string): Program<string[]> {
  if (from === to) return [];
  const rows = yield statement('UPDATE app_sessions SET key_hash = ? WHERE key_hash = ? RETURNING id', [to, from]);
  return rows.map((row) => text(row, 'id')).sort();
}

/**
 * Activity is written late, by several processes, in any order: so only existing rows, and only forwards. The columns
 * of `VALUES` have the same names in both engines, and PostgreSQL treats parameters there as text unless cast.
 */
const TOUCH_SESSIONS = `UPDATE app_sessions
  SET last_active_ms = CAST(given.column2 AS bigint), expires_at_ms = CAST(given.column3 AS bigint)
  FROM (VALUES %s) AS given
  WHERE app_sessions.id = given.column1 AND app_sessions.last_active_ms <= CAST(given.column2 AS bigint)
  RETURNING user_id, last_active_ms`;

function* touchLogins(activity: readonly LoginActivity[]): Program<void> {
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

function* claimLoginRefresh(id: string, time: CallerTime, untilMs: number): Program<boolean> {
  const shiftMs = yield* clockShift(time);
  const claimed = yield* queryOne(
    'UPDATE app_sessions SET refresh_claim_until_ms = ? WHERE id = ? AND refresh_claim_until_ms <= ? RETURNING id',
    [untilMs + shiftMs, id, time.nowMs + shiftMs],
  );
  return claimed !== null;
}

function* releaseLoginRefresh(id: string): Program<void> {
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

function* replaceLoginTokens(
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

/** Names the table in the seal: a session's secrets open nowhere else. */
export const LOGIN_SESSION_KIND = 'login_session';

const PRUNED_PER_TRANSACTION = 1_000;

interface OpenedLoginStore {
  readonly store: LoginStore;
  /** Tells this process's listeners of changes that another write has made. */
  readonly announce: (changes: readonly LoginChange[]) => void;
}

/** What logins ask of the engine. */
export const loginPrograms = {
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
} as const;

export function createLoginStore(
  engine: SqlEngine<typeof loginPrograms>,
  keyring: Keyring,
  timeAt: TimeAt,
): OpenedLoginStore {
  const listeners = new Set<LoginListener>();

  /**
   * Nothing is awaited between the write and this, so listeners are called in the order of the log, like those of
   * commits.
   */
  function announce(changes: readonly LoginChange[]): void {
    if (changes.length > 0) notifyListeners(listeners, changes);
  }

  function announceEnds(changes: readonly LoginChange[]): string[] {
    announce(changes);
    return changes.map(({ sessionId }) => sessionId);
  }

  function seal(id: string, secrets: Secrets | null): string | null {
    return sealSecrets({ kind: LOGIN_SESSION_KIND, id }, secrets, keyring);
  }

  function openSession(row: LoginSessionRow): LoginSession {
    const secrets = openSecrets({ kind: LOGIN_SESSION_KIND, id: row.id }, row.secrets, keyring);
    return { ...row, doc: parseObject(row.doc), secrets };
  }

  const store: LoginStore = {
    recordLogin: async (login) => {
      const { session } = login;
      const { sessions, changes } = await engine.write('recordLogin', {
        ...login,
        session: { ...session, doc: JSON.stringify(session.doc), secrets: seal(session.id, session.secrets) },
      });
      announce(changes);
      return sessions.map(openSession);
    },
    findByKey: async (keyHash) => (await engine.readProven('findLoginsByKey', keyHash)).map(openSession),
    getUser: async (id) => {
      const row = await engine.read('getLoginUser', id);
      return row === null ? null : openUser(row);
    },
    getSession: async (id) => {
      const row = await engine.readProven('getLoginSession', id);
      return row === null ? null : openSession(row);
    },
    listUsers: async (query) => (await engine.read('listLoginUsers', query)).map(openUser),
    listSessions: async (query) => (await engine.read('listLoginSessions', query)).map(openSession),
    touch: async (activity) => {
      if (activity.length > 0) await engine.write('touchLogins', activity);
    },
    claimRefresh: (id, nowMs, untilMs) => engine.write('claimLoginRefresh', id, timeAt(nowMs), untilMs),
    replaceTokens: async (id, expectedVersion, { doc, secrets, user }) => {
      const tokens = { doc: JSON.stringify(doc), secrets: seal(id, secrets), ...(user !== undefined && { user }) };
      const { session, changes } = await engine.write('replaceLoginTokens', id, expectedVersion, tokens);
      announce(changes);
      return session === null ? null : openSession(session);
    },
    releaseRefresh: (id) => engine.write('releaseLoginRefresh', id),
    deleteSession: async (id) => announceEnds(await engine.write('deleteLoginSession', id)).length > 0,
    deleteUser: async (id) => {
      const { isDeleted, changes } = await engine.write('deleteLoginUser', id);
      announce(changes);
      return isDeleted;
    },
    endByKey: async (keyHash) => announceEnds(await engine.write('endLoginsByKey', keyHash)),
    endByProvider: async (logout) => {
      const changes = await engine.write('endLoginsByProvider', logout);
      return changes === null ? null : announceEnds(changes);
    },
    claimOnce: (key, untilMs) => engine.write('claimLoginOnce', key, untilMs),
    endOrphans: async (edgeId, kept) => announceEnds(await engine.write('endOrphanedLogins', edgeId, kept)),
    listEdgeIds: () => engine.read('listLoginEdgeIds'),
    prune: async (nowMs, unusedSinceMs) => {
      const ended: string[] = [];
      for (;;) {
        const ids = announceEnds(await engine.write('pruneLogins', nowMs, unusedSinceMs, PRUNED_PER_TRANSACTION));
        for (const id of ids) ended.push(id);
        if (ids.length < PRUNED_PER_TRANSACTION) return ended;
      }
    },
    onChanged: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onForeignChange: (listener) => engine.onForeignLogins(listener),
    changesSince: (seq) => engine.readProven('readLoginChangesSince', seq),
    onReset: (reload) => engine.history.onReset(reload),
    currentSeq: () => engine.read('readLoginSeq'),
  };
  return { store, announce };
}

function openUser({ id, doc }: LoginUserRow): LoginUser {
  return { id, doc: parseObject(doc) };
}
