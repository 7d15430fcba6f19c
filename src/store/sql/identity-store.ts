import { hash, randomUUID } from 'node:crypto';
import { subjectIdentity } from '../../kit/text/secrets.ts';
import type {
  DueLogout,
  EndedApplication,
  EndedIdentitySession,
  EndedPerson,
  FoundArtifact,
  IdentityArtifact,
  IdentityStore,
} from '../identity-store.ts';
import type { Keyring } from '../keyring.ts';
import type { LoginChange, RecordKey } from '../store.ts';
import { endLogins } from './logins/login-ends.ts';
import { parseObject, sealContext } from './seal.ts';
import type { SqlEngine } from './sql-engine.ts';
import {
  executeForTuples,
  insertRows,
  integer,
  type Program,
  queryOne,
  type Row,
  statement,
  type TimeAt,
  text,
  textOrNull,
} from './statement.ts';

/** As an engine gets it: ids hashed, the payload sealed. */
export interface ArtifactRow {
  readonly model: string;
  readonly idHash: string;
  readonly accountId: string;
  readonly grantId: string | null;
  /** The hash of the grant's id, under which the grant itself is stored. */
  readonly grantHash: string | null;
  readonly sessionUid: string | null;
  readonly clientId: string | null;
  readonly providerSessionId: string | null;
  readonly payload: string;
  readonly expiresAtMs: number;
}

export interface FoundArtifactRow {
  readonly model: string;
  readonly idHash: string;
  readonly payload: string;
  readonly expiresAtMs: number;
  readonly consumedAtMs: number;
}

const SESSION_MODEL = 'Session';
const GRANT_MODEL = 'Grant';

const COLUMNS = [
  'model',
  'id_hash',
  'account_id',
  'grant_id',
  'session_uid',
  'client_id',
  'provider_session_id',
  'payload',
  'expires_at_ms',
  'consumed_at_ms',
];
const FOUND = 'SELECT model, id_hash, payload, expires_at_ms, consumed_at_ms FROM identity_artifacts';

function foundOf(row: Row): FoundArtifactRow {
  return {
    model: text(row, 'model'),
    idHash: text(row, 'id_hash'),
    payload: text(row, 'payload'),
    expiresAtMs: integer(row, 'expires_at_ms'),
    consumedAtMs: integer(row, 'consumed_at_ms'),
  };
}

function* beginIdentitySession(session: ArtifactRow, person: RecordKey): Program<boolean> {
  const row = yield* queryOne('SELECT doc FROM records WHERE kind = ? AND id = ?', [person.kind, person.id]);
  if (row === null || parseObject(text(row, 'doc'))['active'] === false) return false;
  yield* insertArtifact(session);
  return true;
}

function* replaceIdentitySession(session: ArtifactRow): Program<boolean> {
  const moved = yield* queryOne(
    `UPDATE identity_artifacts SET id_hash = ?, payload = ?, expires_at_ms = ?
      WHERE model = ? AND session_uid = ? AND account_id = ? RETURNING id_hash`,
    [session.idHash, session.payload, session.expiresAtMs, SESSION_MODEL, session.sessionUid, session.accountId],
  );
  return moved !== null;
}

/** Stored without its session, so that it does not end with it. */
function* rememberDecision(decision: ArtifactRow): Program<boolean> {
  const session = yield* sessionOf(decision);
  if (session === null || text(session, 'account_id') !== decision.accountId) return false;
  yield* insertArtifact({ ...decision, sessionUid: null });
  return true;
}

function sessionOf({ sessionUid }: ArtifactRow): Program<Row | null> {
  return queryOne('SELECT account_id FROM identity_artifacts WHERE session_uid = ? AND model = ?', [
    sessionUid,
    SESSION_MODEL,
  ]);
}

function* putArtifact(artifact: ArtifactRow): Program<boolean> {
  const { model, grantHash } = artifact;
  const needed =
    model === GRANT_MODEL
      ? yield* sessionOf(artifact)
      : yield* queryOne('SELECT account_id FROM identity_artifacts WHERE model = ? AND id_hash = ?', [
          GRANT_MODEL,
          grantHash,
        ]);
  if (needed === null || text(needed, 'account_id') !== artifact.accountId) return false;
  yield* insertArtifact(artifact);
  return true;
}

function* insertArtifact(row: ArtifactRow): Program<void> {
  yield* insertRows(
    'identity_artifacts',
    COLUMNS,
    [
      [
        row.model,
        row.idHash,
        row.accountId,
        row.grantId,
        row.sessionUid,
        row.clientId,
        row.providerSessionId,
        row.payload,
        row.expiresAtMs,
        0,
      ],
    ],
    // A consumed one stays consumed.
    'ON CONFLICT (model, id_hash) DO UPDATE SET payload = excluded.payload, expires_at_ms = excluded.expires_at_ms',
  );
}

function* findArtifact(model: string, idHash: string): Program<FoundArtifactRow | null> {
  const row = yield* queryOne(`${FOUND} WHERE model = ? AND id_hash = ?`, [model, idHash]);
  return row === null ? null : foundOf(row);
}

function* findIdentitySession(sessionUid: string): Program<FoundArtifactRow | null> {
  const row = yield* queryOne(`${FOUND} WHERE session_uid = ? AND model = ?`, [sessionUid, SESSION_MODEL]);
  return row === null ? null : foundOf(row);
}

function* listArtifacts(model: string, accountId: string): Program<FoundArtifactRow[]> {
  const rows = yield statement(`${FOUND} WHERE account_id = ? AND model = ? ORDER BY id_hash`, [accountId, model]);
  return rows.map(foundOf);
}

/** One compare-and-set: of two requests with one code, one gets tokens. */
function* consumeArtifact(model: string, idHash: string, nowMs: number): Program<boolean> {
  const consumed = yield* queryOne(
    'UPDATE identity_artifacts SET consumed_at_ms = ? WHERE model = ? AND id_hash = ? AND consumed_at_ms = 0 RETURNING model',
    [nowMs, model, idHash],
  );
  return consumed !== null;
}

function* removeArtifact(model: string, idHash: string): Program<void> {
  yield statement('DELETE FROM identity_artifacts WHERE model = ? AND id_hash = ?', [model, idHash]);
}

export function* pruneArtifacts(nowMs: number): Program<void> {
  yield statement('DELETE FROM identity_artifacts WHERE expires_at_ms <= ?', [nowMs]);
}

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

function* endIdentitySession(session: EndedIdentitySession, nowMs: number): Program<EndedSession> {
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
function* endIdentityApplication(ended: EndedApplicationRow, nowMs: number): Program<readonly LoginChange[] | null> {
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
function* removeGrant(grantId: string, grantHash: string, nowMs: number): Program<void> {
  yield statement('DELETE FROM identity_artifacts WHERE grant_id = ?', [grantId]);
  yield* endArtifacts('model = ? AND id_hash = ?', [GRANT_MODEL, grantHash], nowMs);
}

/** Applications hear of it: see `identity_logouts`. */
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

function* hasDueLogouts(nowMs: number): Program<boolean> {
  return (
    (yield* queryOne('SELECT id FROM identity_logouts WHERE due_at_ms <= ? ORDER BY due_at_ms LIMIT 1', [nowMs])) !==
    null
  );
}

function* claimIdentityLogouts(nowMs: number, retryAtMs: number): Program<DueLogout[]> {
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

function* settleIdentityLogouts(ids: readonly string[]): Program<void> {
  for (const id of ids) yield statement('DELETE FROM identity_logouts WHERE id = ?', [id]);
}

export function* pruneIdentityLogouts(nowMs: number): Program<void> {
  yield statement('DELETE FROM identity_logouts WHERE due_at_ms <= ?', [nowMs - LOGOUT_VALID_MS]);
}

/** Names the row in the seal: a payload opens nowhere else. */
export function artifactKey(model: string, idHash: string): RecordKey {
  return { kind: 'identity_artifact', id: `${model}/${idHash}` };
}

/** What the identity host asks of the engine. */
export const identityPrograms = {
  beginIdentitySession,
  replaceIdentitySession,
  putArtifact,
  rememberDecision,
  findArtifact,
  findIdentitySession,
  listArtifacts,
  consumeArtifact,
  removeArtifact,
  removeGrant,
  endIdentityApplication,
  endIdentitySession,
  hasDueLogouts,
  claimIdentityLogouts,
  settleIdentityLogouts,
} as const;

export function createIdentityStore(
  engine: SqlEngine<typeof identityPrograms>,
  keyring: Keyring,
  timeAt: TimeAt,
  announceLogins: (changes: readonly LoginChange[]) => void,
): IdentityStore {
  function rowOf(artifact: IdentityArtifact): ArtifactRow {
    const { model, accountId, grantId, sessionUid, application, expiresAtMs } = artifact;
    const idHash = hashOf(artifact.id);
    return {
      model,
      idHash,
      accountId,
      grantId,
      grantHash: grantId === null ? null : hashOf(grantId),
      sessionUid,
      expiresAtMs,
      clientId: application?.clientId ?? null,
      providerSessionId: application?.providerSessionId ?? null,
      payload: keyring.seal(JSON.stringify(artifact.payload), sealContext(artifactKey(model, idHash))),
    };
  }

  function opened(row: FoundArtifactRow): FoundArtifact {
    const text = keyring.open(row.payload, sealContext(artifactKey(row.model, row.idHash)));
    const { expiresAtMs, consumedAtMs } = row;
    return { payload: parseObject(text), expiresAtMs, consumedAtMs: consumedAtMs === 0 ? null : consumedAtMs };
  }

  function openedOrNull(row: FoundArtifactRow | null): FoundArtifact | null {
    return row === null || row.expiresAtMs <= timeAt().nowMs ? null : opened(row);
  }

  return {
    beginSession: (session, { kind, id }) => engine.write('beginIdentitySession', rowOf(session), { kind, id }),
    replaceSession: (session) => engine.write('replaceIdentitySession', rowOf(session)),
    remember: (decision) => engine.write('rememberDecision', rowOf(decision)),
    put: (artifact) => engine.write('putArtifact', rowOf(artifact)),
    find: async (model, id) => openedOrNull(await engine.readProven('findArtifact', model, hashOf(id))),
    findSession: async (uid) => openedOrNull(await engine.readProven('findIdentitySession', uid)),
    list: async (model, accountId) => {
      const rows = await engine.readProven('listArtifacts', model, accountId);
      return rows.flatMap((row) => openedOrNull(row) ?? []);
    },
    consume: (model, id) => engine.write('consumeArtifact', model, hashOf(id), timeAt().nowMs),
    remove: (model, id) => engine.write('removeArtifact', model, hashOf(id)),
    removeGrant: (grantId) => engine.write('removeGrant', grantId, hashOf(grantId), timeAt().nowMs),
    endSession: async ({ issuer, sessionUid, providerSessionId }) => {
      const ended = { issuer, sessionUid, providerSessionId };
      const { isEnded, changes } = await engine.write('endIdentitySession', ended, timeAt().nowMs);
      announceLogins(changes);
      return isEnded;
    },
    endApplication: async ({ issuer, sessionUid, providerSessionId, clientId }, without) => {
      for (;;) {
        const row = await engine.readProven('findIdentitySession', sessionUid);
        const session = openedOrNull(row);
        const left = session === null ? null : without(session.payload);
        if (row === null || left === null) return false;
        const { grantId } = left;
        const payload = keyring.seal(JSON.stringify(left.payload), sealContext(artifactKey(row.model, row.idHash)));
        const grant = grantId === null ? null : { grantId, grantHash: hashOf(grantId) };
        const ended = { issuer, sessionUid, providerSessionId, clientId, grant, seenPayload: row.payload, payload };
        const changes = await engine.write('endIdentityApplication', ended, timeAt().nowMs);
        // Somebody else changed the session in between.
        if (changes === null) continue;
        announceLogins(changes);
        return true;
      }
    },
    hasDueLogouts: (nowMs) => engine.read('hasDueLogouts', nowMs),
    claimLogouts: (nowMs, retryAtMs) => engine.write('claimIdentityLogouts', nowMs, retryAtMs),
    settleLogouts: async (ids) => {
      if (ids.length > 0) await engine.write('settleIdentityLogouts', ids);
    },
  };
}

/** Ids of what must be secret are random, with 126 bits or more. */
function hashOf(id: string): string {
  return hash('sha256', id);
}
