import type { JsonObject } from '../../../lib/json.ts';
import type { LoginChange, NewLogin } from '../../store.ts';
import { parseObject } from '../sealing/seal.ts';
import { insertRows, type Program, queryOne, statement, text } from '../statements/statement.ts';
import { logLoginChanges } from './login-change-rows.ts';
import { endLogins } from './login-ends.ts';
import { findLoginsByKey, type LoginSessionRow, SESSION_COLUMN_NAMES } from './login-rows.ts';

export interface NewLoginRow extends Omit<NewLogin, 'session'> {
  readonly session: Omit<LoginSessionRow, 'userId' | 'version'>;
}

export interface RecordedLogin {
  readonly sessions: readonly LoginSessionRow[];
  readonly changes: readonly LoginChange[];
}

const FIRST_VERSION = 1;

export function* recordLogin({ session, previousKeyHash, replaces, ...user }: NewLoginRow): Program<RecordedLogin> {
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
