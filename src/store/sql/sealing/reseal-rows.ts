import { type Keyring, sealedPrefix } from '../../keyring.ts';
import { artifactKey } from '../identity/identity-store.ts';
import { LOGIN_SESSION_KIND } from '../logins/login-store.ts';
import { integer, type Program, statement, text } from '../statements/statement.ts';
import { sealContext } from './seal.ts';

const ROWS_PER_BATCH = 200;

/**
 * Reseals up to one batch of rows with the current key; returns how many there were, 0 when all are done. It needs no
 * bookmark: a finished row no longer matches, so an interrupted run continues where it stopped.
 */
export function* resealBatch(keyring: Keyring): Program<number> {
  return (
    (yield* resealRecords(keyring)) ||
    (yield* resealSessions(keyring)) ||
    (yield* resealHistory(keyring)) ||
    (yield* resealArtifacts(keyring))
  );
}

function* resealRecords(keyring: Keyring): Program<number> {
  const rows = yield statement(
    'SELECT kind, id, secrets FROM records WHERE secrets IS NOT NULL AND secrets NOT LIKE ? LIMIT ?',
    [`${sealedPrefix(keyring.currentKeyId)}%`, ROWS_PER_BATCH],
  );
  for (const row of rows) {
    const key = { kind: text(row, 'kind'), id: text(row, 'id') };
    const sealed = text(row, 'secrets');
    // Only unchanged rows: the writers' lock prevents concurrent writes, and this condition holds even if it fails.
    yield statement('UPDATE records SET secrets = ? WHERE kind = ? AND id = ? AND secrets = ?', [
      reseal(sealed, sealContext(key), keyring),
      key.kind,
      key.id,
      sealed,
    ]);
  }
  return rows.length;
}

function* resealSessions(keyring: Keyring): Program<number> {
  const rows = yield statement(
    'SELECT id, secrets FROM app_sessions WHERE secrets IS NOT NULL AND secrets NOT LIKE ? LIMIT ?',
    [`${sealedPrefix(keyring.currentKeyId)}%`, ROWS_PER_BATCH],
  );
  for (const row of rows) {
    const id = text(row, 'id');
    const sealed = text(row, 'secrets');
    yield statement('UPDATE app_sessions SET secrets = ? WHERE id = ? AND secrets = ?', [
      reseal(sealed, sealContext({ kind: LOGIN_SESSION_KIND, id }), keyring),
      id,
      sealed,
    ]);
  }
  return rows.length;
}

/** Secrets of earlier versions stay sealed, bound to their record. */
function* resealHistory(keyring: Keyring): Program<number> {
  const before = yield* resealHistoryColumn('before_secrets', keyring);
  return before || (yield* resealHistoryColumn('after_secrets', keyring));
}

function* resealHistoryColumn(column: 'before_secrets' | 'after_secrets', keyring: Keyring): Program<number> {
  const rows = yield statement(
    `SELECT revision, position, kind, id, ${column} AS secrets FROM history_items
      WHERE ${column} IS NOT NULL AND ${column} NOT LIKE ? LIMIT ?`,
    [`${sealedPrefix(keyring.currentKeyId)}%`, ROWS_PER_BATCH],
  );
  for (const row of rows) {
    const sealed = text(row, 'secrets');
    yield statement(`UPDATE history_items SET ${column} = ? WHERE revision = ? AND position = ? AND ${column} = ?`, [
      reseal(sealed, sealContext({ kind: text(row, 'kind'), id: text(row, 'id') }), keyring),
      integer(row, 'revision'),
      integer(row, 'position'),
      sealed,
    ]);
  }
  return rows.length;
}

function* resealArtifacts(keyring: Keyring): Program<number> {
  const rows = yield statement(
    'SELECT model, id_hash, payload FROM identity_artifacts WHERE payload NOT LIKE ? LIMIT ?',
    [`${sealedPrefix(keyring.currentKeyId)}%`, ROWS_PER_BATCH],
  );
  for (const row of rows) {
    const [model, idHash, sealed] = [text(row, 'model'), text(row, 'id_hash'), text(row, 'payload')];
    yield statement('UPDATE identity_artifacts SET payload = ? WHERE model = ? AND id_hash = ? AND payload = ?', [
      reseal(sealed, sealContext(artifactKey(model, idHash)), keyring),
      model,
      idHash,
      sealed,
    ]);
  }
  return rows.length;
}

function reseal(sealed: string, context: string, keyring: Keyring): string {
  return keyring.seal(keyring.open(sealed, context), context);
}
