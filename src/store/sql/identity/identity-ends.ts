import { randomUUID } from 'node:crypto';
import { subjectIdentity } from '../../../lib/text/subject-identity.ts';
import type { DueLogout, EndedApplication, EndedIdentitySession, EndedPerson } from '../../identity-store.ts';
import type { LoginChange } from '../../store.ts';
import { endLogins } from '../logins/login-ends.ts';
import {
  executeForTuples,
  insertRows,
  integer,
  type Program,
  queryOne,
  type Row,
  statement,
  text,
  textOrNull,
} from '../statements/statement.ts';
import { GRANT_MODEL, SESSION_MODEL } from './artifact-rows.ts';

/** An application that cannot be reached for longer has forgotten its sessions, or will refuse their refresh tokens. */
const LOGOUT_VALID_MS = 86_400_000;
const MAX_CLAIMED = 100;

/** In the transaction that disables, deletes or logs out the people: nothing of them is left for another request. */
export function* endPeople(people: readonly EndedPerson[], nowMs: number): Program<readonly LoginChange[]> {
  const changes: LoginChange[] = [];
  for (const { issuer, accountId } of people) {
    yield* endArtifacts('account_id = ?', [accountId], nowMs);
    changes.push(
      ...(yield* endLogins('issuer = ? AND user_id IN (SELECT id FROM app_users WHERE identity = ?)', [
        issuer,
        subjectIdentity(issuer, accountId),
      ])),
    );
  }
  return changes;
}

export interface EndedSession {
  readonly isEnded: boolean;
  readonly changes: readonly LoginChange[];
}

export function* endIdentitySession(session: EndedIdentitySession, nowMs: number): Program<EndedSession> {
  const { issuer, sessionUid, providerSessionId } = session;
  const ended = yield* endArtifacts('session_uid = ?', [sessionUid], nowMs);
  const changes = yield* endLogins('provider_session_id = ? AND issuer = ?', [providerSessionId, issuer]);
  return { isEnded: ended.some((row) => text(row, 'model') === SESSION_MODEL), changes };
}

export interface EndedApplicationRow extends EndedApplication {
  readonly grant: { readonly grantId: string; readonly grantHash: string } | null;
  /** The session as it was read; it is changed only if it is still the same. */
  readonly seenPayload: string;
  readonly payload: string;
}

/** Null: the session has changed since it was read, and nothing was done. */
export function* endIdentityApplication(
  ended: EndedApplicationRow,
  nowMs: number,
): Program<readonly LoginChange[] | null> {
  const { issuer, sessionUid, providerSessionId, clientId, grant, seenPayload, payload } = ended;
  const changed = yield* queryOne(
    'UPDATE identity_artifacts SET payload = ? WHERE session_uid = ? AND model = ? AND payload = ? RETURNING id_hash',
    [payload, sessionUid, SESSION_MODEL, seenPayload],
  );
  if (changed === null) return null;
  if (grant !== null) yield* removeGrant(grant.grantId, grant.grantHash, nowMs);
  return yield* endLogins('issuer = ? AND client_id = ? AND provider_session_id = ?', [
    issuer,
    clientId,
    providerSessionId,
  ]);
}

/** A grant with everything that depends on it. */
export function* removeGrant(grantId: string, grantHash: string, nowMs: number): Program<void> {
  yield statement('DELETE FROM identity_artifacts WHERE grant_id = ?', [grantId]);
  yield* endArtifacts('model = ? AND id_hash = ?', [GRANT_MODEL, grantHash], nowMs);
}

/** Their applications hear of it: see `identity_logouts`. */
function* endArtifacts(where: string, params: readonly string[], nowMs: number): Program<readonly Row[]> {
  const ended = yield statement(
    `DELETE FROM identity_artifacts WHERE ${where} RETURNING model, account_id, client_id, provider_session_id`,
    params,
  );
  const logouts = ended.flatMap((row) => {
    const [clientId, providerSessionId] = [textOrNull(row, 'client_id'), textOrNull(row, 'provider_session_id')];
    if (clientId === null || providerSessionId === null) return [];
    return [[randomUUID(), clientId, text(row, 'account_id'), providerSessionId, 0, nowMs]];
  });
  yield* insertRows(
    'identity_logouts',
    ['id', 'client_id', 'account_id', 'provider_session_id', 'attempts', 'due_at_ms'],
    logouts,
  );
  return ended;
}

export function* hasDueLogouts(nowMs: number): Program<boolean> {
  return (
    (yield* queryOne('SELECT id FROM identity_logouts WHERE due_at_ms <= ? ORDER BY due_at_ms LIMIT 1', [nowMs])) !==
    null
  );
}

export function* claimIdentityLogouts(nowMs: number, retryAtMs: number): Program<DueLogout[]> {
  const rows = yield statement(
    `SELECT id, client_id, account_id, provider_session_id, attempts FROM identity_logouts
      WHERE due_at_ms <= ? ORDER BY due_at_ms LIMIT ?`,
    [nowMs, MAX_CLAIMED],
  );
  yield* executeForTuples(
    `UPDATE identity_logouts SET due_at_ms = ${Math.trunc(retryAtMs)}, attempts = attempts + 1 WHERE id IN (VALUES %s)`,
    rows.map((row) => [text(row, 'id')]),
  );
  return rows.map((row) => ({
    id: text(row, 'id'),
    clientId: text(row, 'client_id'),
    accountId: text(row, 'account_id'),
    providerSessionId: text(row, 'provider_session_id'),
    attempts: integer(row, 'attempts') + 1,
  }));
}

export function* settleIdentityLogouts(ids: readonly string[]): Program<void> {
  for (const id of ids) yield statement('DELETE FROM identity_logouts WHERE id = ?', [id]);
}

export function* pruneIdentityLogouts(nowMs: number): Program<void> {
  yield statement('DELETE FROM identity_logouts WHERE due_at_ms <= ?', [nowMs - LOGOUT_VALID_MS]);
}
