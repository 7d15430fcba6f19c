import type { Clock } from '../../kit/clock.ts';
import { databasePath, makePrivateFile } from '../data-directory.ts';
import { type KeySource, syncDirectory } from '../keyring.ts';
import { type CommitMark, lacksCommit, refuseOtherStore } from '../sql/commit-rows.ts';
import { createSqlStore } from '../sql/create-sql-store.ts';
import { readRevision } from '../sql/records/record-rows.ts';
import { type Initialized, initialize } from '../sql/schema/initialize.ts';
import { refuseIncompatible } from '../sql/schema/migrate.ts';
import type { Store } from '../store.ts';
import { DiskReserve, isDiskFull } from './database-files.ts';
import { lockAsSuccessor, lockDirectory } from './directory-lock.ts';
import { forgetLog, type LastCommit, lossText, refuseLostFiles } from './last-commit-file.ts';
import { checkPages, SqliteConnection } from './sqlite-connection.ts';
import { SqliteEngine } from './sqlite-engine.ts';

export interface OpenSqliteStoreOptions {
  /** Created with mode 0700 when it does not exist. */
  readonly dataDir: string;
  /** POSTERN_SECRET_KEY; null uses `secret.key` in the data directory, which a new store creates. */
  readonly secretKey: string | null;
  /** PRAGMA max_page_count: simulates a full disk in tests. */
  readonly maxPages?: number;
  readonly keepRevisions?: number;
  readonly probeIntervalMs?: number;
  readonly clock?: Clock;
  /** Opens the store beside its owner, which is handing over to this process and has made this commit for it. */
  readonly takesOverAt?: CommitMark | null;
}

export async function openSqliteStore(options: OpenSqliteStoreOptions): Promise<Store> {
  const reserve = new DiskReserve(options.dataDir);
  try {
    return openWith(options, reserve);
  } catch (error) {
    if (!isDiskFull(error) || !reserve.release()) throw error;
    return openWith(options, reserve);
  }
}

function openWith(options: OpenSqliteStoreOptions, reserve: DiskReserve): Store {
  const { dataDir, secretKey, maxPages, keepRevisions, probeIntervalMs, clock, takesOverAt: mark = null } = options;
  if (mark !== null) refuseLostFiles(dataDir, mark);
  const successor = mark === null ? null : lockAsSuccessor(dataDir);
  const lock = successor ?? lockDirectory(dataDir);
  try {
    const path = databasePath(dataDir);
    const last = mark === null ? refuseLostFiles(dataDir) : null;
    makePrivateFile(path);
    const prepared = prepare(path, { dataDir, configured: secretKey }, { mark, last });
    const { keyring, accountId, commit, loss } = prepared;
    const engine = new SqliteEngine({
      ...{ path, dataDir, maxPages, commit, probeIntervalMs, isTakingOver: mark !== null },
      isFull: !reserve.hold(),
      own: () => successor?.own() ?? Promise.resolve(),
      onClosed: () => lock.release(),
    });
    return createSqlStore({ engine, keyring, accountId, clock, keepRevisions, loss });
  } catch (error) {
    lock.release();
    throw error;
  }
}

/**
 * In this thread: nothing is being served yet, and a wrong key or a newer store must be reported before the start
 * continues.
 */
function prepare(
  path: string,
  source: KeySource,
  { mark, last }: { readonly mark: CommitMark | null; readonly last: LastCommit | null },
): Initialized & { readonly loss: string | null } {
  const connection = new SqliteConnection({ path, access: 'write' });
  try {
    checkPages(connection);
    return connection.transaction('IMMEDIATE', () => {
      if (mark !== null) {
        connection.run(refuseOtherStore('sqlite', mark));
        connection.run(refuseIncompatible('sqlite'));
      }
      const initialized = connection.run(initialize('sqlite', source));
      const found = { commit: initialized.commit, revision: connection.run(readRevision()) };
      const isLost = last !== null && connection.run(lacksCommit(last.commit));
      // From here on, this process makes another log. A process that takes over goes on with the log of its owner.
      if (mark === null) forgetLog(path, found);
      return { ...initialized, loss: isLost ? lossText(path, last, found) : null };
    });
  } finally {
    connection.close();
    syncDirectory(source.dataDir);
  }
}
