import { randomBytes } from 'node:crypto';
import { storeErrors } from './errors.ts';
import { keyFilePath, writeKeyFile } from './key-file.ts';
import { createKeyring, type Keyring, SECRET_KEY_BYTES } from './keyring.ts';
import { readKeys, sealKeyCheck, verifyKeyCheck } from './load-keyring.ts';
import type { OfflineDatabase } from './offline/offline-database.ts';
import { openOfflineDatabase } from './offline/open-offline-database.ts';
import type { StoreLocation } from './offline/store-location.ts';
import { LOCK_WRITERS } from './postgres/postgres-engine.ts';
import { refuseOldNodes } from './postgres/refuse-old-nodes.ts';
import { refuseWhileServersRun } from './postgres/refuse-while-servers-run.ts';
import { readMeta, writeMeta } from './sql/schema/meta-rows.ts';
import { migrate, schemaVersion } from './sql/schema/migrate.ts';
import { resealBatch } from './sql/sealing/reseal-rows.ts';
import type { Program } from './sql/statements/statement.ts';
import { lockDirectory } from './sqlite/directory-lock.ts';

export interface RotateKeyOptions {
  /** With `secretKey` (`NEW,OLD`) the store moves to NEW; without it a new key is created in the key file. */
  readonly target: StoreLocation;
  readonly onProgress?: (progress: RotateProgress) => void;
}

export interface RotateProgress {
  /** The last step that is durable. */
  readonly step: 'keys_written' | 'batch_resealed' | 'check_resealed' | 'old_keys_dropped';
  readonly resealed: number;
}

export interface RotateResult {
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
