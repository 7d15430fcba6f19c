import { randomBytes } from 'node:crypto';
import { storeErrors } from './errors.ts';
import {
  createKeyring,
  type Keyring,
  keyFilePath,
  readKeys,
  SECRET_KEY_BYTES,
  sealedPrefix,
  sealKeyCheck,
  verifyKeyCheck,
  writeKeyFile,
} from './keyring.ts';
import { type OfflineDatabase, openOfflineDatabase, type StoreLocation } from './offline-database.ts';
import { LOCK_WRITERS } from './postgres/postgres-engine.ts';
import { refuseOldNodes, refuseWhileServersRun } from './postgres/schema-locks.ts';
import { artifactKey } from './sql/identity-store.ts';
import { LOGIN_SESSION_KIND } from './sql/logins/login-store.ts';
import { migrate, readMeta, schemaVersion, writeMeta } from './sql/schema/migrate.ts';
import { sealContext } from './sql/seal.ts';
import { integer, type Program, statement, text } from './sql/statement.ts';
import { lockDirectory } from './sqlite/directory-lock.ts';

interface RotateKeyOptions {
  /** With `secretKey` (`NEW,OLD`) the store moves to NEW; without it a new key is created in the key file. */
  readonly target: StoreLocation;
  readonly onProgress?: (progress: RotateProgress) => void;
}

interface RotateProgress {
  /** The last step that is durable. */
  readonly step: 'keys_written' | 'batch_resealed' | 'check_resealed' | 'old_keys_dropped';
  readonly resealed: number;
}

interface RotateResult {
  readonly keyId: string;
  /** Rows resealed by this run. */
  readonly resealed: number;
  /** Keys that no longer seal anything but are still configured: the user removes them from POSTERN_SECRET_KEY. */
  readonly droppableKeyIds: readonly string[];
}

/**
 * Moves every secret to another key. At each point the stored or configured keys open everything in the store, so a
 * crash anywhere leaves a store that starts, and running this again finishes it:
 *
 *   key file    [old] → [new, old] → rows one batch after the other → check value → [new]
 *
 * SQLite: rejected while a server uses the data directory. PostgreSQL: with the key file, rejected while any server is
 * connected, since those know only the old key; with POSTERN_SECRET_KEY, servers may run if each was restarted with
 * `NEW,OLD` before. A server that was not keeps serving what it has read, and cannot open what it reads afterwards.
 */
export async function rotateKey({ target, onProgress = () => {} }: RotateKeyOptions): Promise<RotateResult> {
  const lock = target.engine === 'sqlite' ? lockDirectory(target.dataDir) : null;
  try {
    const database = openOfflineDatabase(target, 'write');
    try {
      return await rotate(database, target, onProgress);
    } finally {
      await database.close();
    }
  } finally {
    lock?.release();
  }
}

async function rotate(
  database: OfflineDatabase,
  target: StoreLocation,
  onProgress: (progress: RotateProgress) => void,
): Promise<RotateResult> {
  const isConfigured = (target.secretKey ?? '').trim() !== '';
  const keys = await database.transaction('write', (run) => run(prepareKeys(database, target, isConfigured)));
  const keyring = createKeyring(keys);
  let resealed = 0;
  onProgress({ step: 'keys_written', resealed });
  for (;;) {
    const count = await database.transaction('write', (run) => run(lockedBatch(database, keyring)));
    if (count === 0) break;
    resealed += count;
    onProgress({ step: 'batch_resealed', resealed });
  }
  resealed += await database.transaction('write', (run) => run(finish(database, keyring)));
  onProgress({ step: 'check_resealed', resealed });
  if (!isConfigured) writeKeyFile(target.dataDir, keys.slice(0, 1));
  onProgress({ step: 'old_keys_dropped', resealed });
  return { keyId: keyring.currentKeyId, resealed, droppableKeyIds: isConfigured ? keyring.keyIds.slice(1) : [] };
}

/** Current key first. Creates the new key, unless an interrupted rotation already has. */
function* prepareKeys(
  { dialect }: OfflineDatabase,
  { dataDir, secretKey = null }: StoreLocation,
  isConfigured: boolean,
): Program<readonly Buffer[]> {
  if (dialect === 'postgres' && !isConfigured) yield* refuseWhileServersRun();
  if (dialect === 'postgres') yield* refuseOldNodes(yield* schemaVersion('postgres'));
  yield* migrate({ dialect });
  const source = { dataDir, configured: secretKey };
  const check = yield* readMeta('key_check');
  const keys = readKeys(source);
  if (check === null || keys === null) throw noKeys(dataDir);
  verifyKeyCheck(check, createKeyring(keys), source);
  if (isConfigured && keys.length === 1) throw oneKeyOnly();
  const [key] = keys;
  if (isConfigured || keys.length > 1 || key === undefined) return keys;
  const both = [randomBytes(SECRET_KEY_BYTES), key];
  writeKeyFile(dataDir, both);
  return both;
}

function* lockedBatch({ dialect }: OfflineDatabase, keyring: Keyring): Program<number> {
  if (dialect === 'postgres') yield LOCK_WRITERS;
  return yield* resealBatch(keyring);
}

/**
 * Reseals what servers wrote with the old key after the last batch, and the check value, under one lock: then nothing
 * is left.
 */
function* finish({ dialect }: OfflineDatabase, keyring: Keyring): Program<number> {
  if (dialect === 'postgres') yield LOCK_WRITERS;
  let resealed = 0;
  for (let count = yield* resealBatch(keyring); count > 0; count = yield* resealBatch(keyring)) resealed += count;
  yield* writeMeta('key_check', sealKeyCheck(keyring));
  return resealed;
}

function noKeys(dataDir: string) {
  return storeErrors.create(
    'ERR_POSTERN_SECRET_KEY',
    `there is no secret key to rotate: POSTERN_SECRET_KEY is not set and ${keyFilePath(dataDir)} does not exist, or the store is new`,
  );
}

function oneKeyOnly() {
  return storeErrors.create(
    'ERR_POSTERN_SECRET_KEY',
    'POSTERN_SECRET_KEY contains only one key: set it to NEW,OLD (the new key, a comma, the old key), restart the servers with it, and run this command again',
  );
}

const ROWS_PER_BATCH = 200;

/**
 * Reseals up to one batch of rows with the current key; returns how many there were, 0 when all are done. It needs no
 * bookmark: a finished row no longer matches, so an interrupted run continues where it stopped.
 */
function* resealBatch(keyring: Keyring): Program<number> {
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
