import { type Keyring, sealedPrefix } from '../../keyring.ts';
import { LOGIN_SESSION_KIND } from '../logins/login-store.ts';
import { type Program, statement, text } from '../statements/statement.ts';
import { sealContext } from './seal.ts';

const ROWS_PER_BATCH = 200;

/**
 * Reseals up to one batch of rows with the current key; returns how many there were, 0 when all are done. It needs no
 * bookmark: a finished row no longer matches, so an interrupted run continues where it stopped.
 */
export function* resealBatch(keyring: Keyring): Program<number> {
  return (yield* resealRecords(keyring)) || (yield* resealSessions(keyring));
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

function reseal(sealed: string, context: string, keyring: Keyring): string {
  return keyring.seal(keyring.open(sealed, context), context);
}
