import type { RecordKey } from '../../store.ts';
import { parseObject } from '../sealing/seal.ts';
import { insertRows, integer, type Program, queryOne, type Row, statement, text } from '../statements/statement.ts';

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

export const SESSION_MODEL = 'Session';
export const GRANT_MODEL = 'Grant';

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

export function* beginIdentitySession(session: ArtifactRow, person: RecordKey): Program<boolean> {
  const row = yield* queryOne('SELECT doc FROM records WHERE kind = ? AND id = ?', [person.kind, person.id]);
  if (row === null || parseObject(text(row, 'doc'))['active'] === false) return false;
  yield* insertArtifact(session);
  return true;
}

export function* replaceIdentitySession(session: ArtifactRow): Program<boolean> {
  const moved = yield* queryOne(
    `UPDATE identity_artifacts SET id_hash = ?, payload = ?, expires_at_ms = ?
      WHERE model = ? AND session_uid = ? AND account_id = ? RETURNING id_hash`,
    [session.idHash, session.payload, session.expiresAtMs, SESSION_MODEL, session.sessionUid, session.accountId],
  );
  return moved !== null;
}

/** Stored without its session, so that it does not end with it. */
export function* rememberDecision(decision: ArtifactRow): Program<boolean> {
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

export function* putArtifact(artifact: ArtifactRow): Program<boolean> {
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

export function* findArtifact(model: string, idHash: string): Program<FoundArtifactRow | null> {
  const row = yield* queryOne(`${FOUND} WHERE model = ? AND id_hash = ?`, [model, idHash]);
  return row === null ? null : foundOf(row);
}

export function* findIdentitySession(sessionUid: string): Program<FoundArtifactRow | null> {
  const row = yield* queryOne(`${FOUND} WHERE session_uid = ? AND model = ?`, [sessionUid, SESSION_MODEL]);
  return row === null ? null : foundOf(row);
}

export function* listArtifacts(model: string, accountId: string): Program<FoundArtifactRow[]> {
  const rows = yield statement(`${FOUND} WHERE account_id = ? AND model = ? ORDER BY id_hash`, [accountId, model]);
  return rows.map(foundOf);
}

/** One compare-and-set: of two requests with one code, one gets tokens. */
export function* consumeArtifact(model: string, idHash: string, nowMs: number): Program<boolean> {
  const consumed = yield* queryOne(
    'UPDATE identity_artifacts SET consumed_at_ms = ? WHERE model = ? AND id_hash = ? AND consumed_at_ms = 0 RETURNING model',
    [nowMs, model, idHash],
  );
  return consumed !== null;
}

export function* removeArtifact(model: string, idHash: string): Program<void> {
  yield statement('DELETE FROM identity_artifacts WHERE model = ? AND id_hash = ?', [model, idHash]);
}

export function* pruneArtifacts(nowMs: number): Program<void> {
  yield statement('DELETE FROM identity_artifacts WHERE expires_at_ms <= ?', [nowMs]);
}
