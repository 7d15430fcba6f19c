import type { Clock } from '../../kit/clock.ts';
import { makeDataDirectory } from '../data-directory.ts';
import { History } from '../history.ts';
import { type CommitMark, provePosition, readCommit, refuseOtherStore } from '../sql/commit-rows.ts';
import { createSqlStore } from '../sql/create-sql-store.ts';
import { initialize } from '../sql/schema/initialize.ts';
import { schemaVersion } from '../sql/schema/migrate.ts';
import type { Store } from '../store.ts';
import { StoreHealthMonitor } from '../store-health.ts';
import { CurrentServer, refuseStandby, ServerSurvey } from './current-server.ts';
import { inTransaction, READ_VIEW } from './postgres-connection.ts';
import { createPostgresEngine, PREPARE } from './postgres-engine.ts';
import { RevisionWatch } from './revision-watch.ts';
import { readSchemaNames, refuseOldNodes, TAKE_MIGRATION_LOCK } from './schema-locks.ts';
import { createPool, createUrgentPool, type ServerPool } from './server-pool.ts';

export interface OpenPostgresStoreOptions {
  /** `postgres://…`; the tables are created in the first schema of the connection's search_path. */
  readonly url: string;
  /** POSTERN_SECRET_KEY; null uses `secret.key` in the data directory, which a new store creates. */
  readonly secretKey: string | null;
  readonly dataDir: string;
  /** Migrates although servers of an older version are connected; they then refuse to write. */
  readonly mayMigrateUnderOldNodes?: boolean;
  /** The commit that the process before this one has made for it, if it hands over. */
  readonly takesOverAt?: CommitMark | null;
  readonly pollIntervalMs?: number;
  readonly keepRevisions?: number;
  readonly clock?: Clock;
}

const DEFAULT_POLL_INTERVAL_MS = 1_500;
/** One for the committing group, the rest for reads. */
const MAX_CONNECTIONS = 10;

export async function openPostgresStore(options: OpenPostgresStoreOptions): Promise<Store> {
  const { url, pollIntervalMs = DEFAULT_POLL_INTERVAL_MS, keepRevisions, clock } = options;
  makeDataDirectory(options.dataDir);
  const server = new CurrentServer(url);
  const survey = new ServerSurvey(server);
  const pool = createPool(server, MAX_CONNECTIONS);
  const urgentPool = createUrgentPool(server);
  let watch: RevisionWatch | null = null;
  let history: History | null = null;
  const monitor = new StoreHealthMonitor();
  try {
    await survey.whenDue();
    const { channel } = await inTransaction(pool, READ_VIEW, (connection) => connection.run(readSchemaNames()));
    // The urgent connection is needed soon, and a new connection takes some round trips.
    void urgentPool.connect().then(
      (client) => client.release(),
      () => {},
    );
    watch = new RevisionWatch({
      server,
      survey,
      channel,
      pollIntervalMs,
      readRevision: async () => (history === null ? 0 : monitor.watchingProbe(readPosition.bind(null, pool, history))),
    });
    // Before the keys are read: a rotation that sees no server must not overlook one here that knows only the old key.
    await watch.start();
    const { keyring, accountId, revision, commit } = await prepare(pool, options);
    history = new History(commit, () => inTransaction(pool, READ_VIEW, (connection) => connection.run(readCommit())));
    watch.noteOwnCommit(revision, revision);
    const engine = createPostgresEngine({ pool, urgentPool, watch, channel, history, monitor });
    return createSqlStore({ engine, keyring, accountId, clock, keepRevisions });
  } catch (error) {
    await watch?.close();
    await Promise.all([pool.end(), urgentPool.end()]);
    throw error;
  }
}

/** The revision, from a database that still contains what this process has seen. */
function readPosition(pool: ServerPool, history: History): Promise<number> {
  return history.noticing(async () => {
    const { seen, epoch } = history;
    const position = await inTransaction(pool, READ_VIEW, async (connection) => {
      await connection.run(refuseStandby());
      return connection.run(provePosition(seen));
    });
    history.advance(position.commit, epoch);
    return position.revision;
  });
}

/** Processes that start together wait here for the first one: it migrates and creates the key, the others find both. */
function prepare(pool: ServerPool, options: OpenPostgresStoreOptions) {
  const { dataDir, secretKey, mayMigrateUnderOldNodes, takesOverAt: mark = null } = options;
  return inTransaction(pool, `${PREPARE}; ${TAKE_MIGRATION_LOCK}`, async (connection) => {
    if (mark !== null) await connection.run(refuseOtherStore('postgres', mark));
    const found = await connection.run(schemaVersion('postgres'));
    if (mayMigrateUnderOldNodes !== true) await connection.run(refuseOldNodes(found));
    return connection.run(initialize('postgres', { dataDir, configured: secretKey }, found));
  });
}
