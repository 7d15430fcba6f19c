import { storeErrors } from '../errors.ts';
import { versionsBeside } from '../sql/schema/migrate.ts';
import { currentSchema } from '../sql/schema/migrations.ts';
import { integer, type Program, queryOne, type Statement, statement, textOrNull } from '../sql/statement.ts';

/** Names that belong to one store: a database may contain several, each in its own schema. */
interface SchemaNames {
  readonly channel: string;
}

/** First keys of two-part advisory locks; the second is a hash of the schema's name. */
const MIGRATION_LOCK = 0x706f_0001;
const SERVERS_LOCK = 0x706f_0002;
const VERSIONS_LOCK = 0x706f_0003;

/** Held by a process that creates or changes tables, until its transaction ends. */
export const TAKE_MIGRATION_LOCK = `SELECT pg_advisory_xact_lock(${MIGRATION_LOCK}, hashtext(current_schema()))`;
/** Every open store holds it, shared, on its listening connection, so that a restore can detect running servers. */
export const TRY_SERVER_LOCK = `SELECT pg_try_advisory_lock_shared(${SERVERS_LOCK}, hashtext(current_schema())) AS locked`;
/** Held in addition, with the schema version that the server knows. */
export const TAKE_VERSION_LOCK = `SELECT pg_advisory_lock_shared(${VERSIONS_LOCK}, hashtext(current_schema() || $1))`;
/** Servers that hold the first lock but not the second of these versions. `pg_locks` shows keys as unsigned. */
export function olderServers(versions: readonly number[]): Statement {
  const known = versions.map(() => 'hashtext(current_schema() || ?)::bigint & 4294967295').join(', ');
  return statement(
    `SELECT count(*) AS servers, string_agg(DISTINCT host(activity.client_addr), ', ') AS addresses
  FROM pg_locks held LEFT JOIN pg_stat_activity activity ON activity.pid = held.pid
  WHERE held.locktype = 'advisory' AND held.granted AND held.objsubid = 2 AND held.classid::bigint = ${SERVERS_LOCK}
    AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND held.objid::bigint = hashtext(current_schema())::bigint & 4294967295
    AND NOT EXISTS (SELECT 1 FROM pg_locks known WHERE known.pid = held.pid AND known.locktype = 'advisory'
      AND known.classid::bigint = ${VERSIONS_LOCK}
      AND known.objid::bigint IN (${known}))`,
    versions.map((version) => `/${version}`),
  );
}

const TRY_NO_SERVERS_LOCK = `SELECT pg_try_advisory_xact_lock(${SERVERS_LOCK}, hashtext(current_schema())) AS locked`;

/** A channel of its own: a notification of the other one is a revision. */
export function loginChannelOf(channel: string): string {
  return `${channel}_logins`;
}

export function* readSchemaNames(): Program<SchemaNames> {
  const row = yield* queryOne(
    "SELECT current_schema() AS name, md5(current_schema()) AS hash, current_setting('server_encoding') AS encoding",
  );
  if (row === null || textOrNull(row, 'name') === null) {
    throw storeErrors.create(
      'ERR_POSTERN_STORE_UNAVAILABLE',
      'no schema in the search_path of the database connection exists: create one, or change POSTERN_DATABASE_URL',
    );
  }
  if (row['encoding'] !== 'UTF8') {
    throw storeErrors.create(
      'ERR_POSTERN_STORE_UNAVAILABLE',
      `the database has the encoding ${row['encoding']}, but Postern requires UTF8`,
    );
  }
  // Hashed, because a schema's name may be as long as a channel's name may be.
  return { channel: `postern_${row['hash']}` };
}

/**
 * A migration while servers of an older version run would remove tables and change meanings under them. Runs under the
 * migration lock: a server that starts meanwhile waits for it, and then finds a schema that it rejects.
 */
export function* refuseOldNodes(found: number): Program<void> {
  if (found === 0 || found >= currentSchema.version) return;
  // This server already holds its own lock, like others of its version that wait for the migration.
  const [row = null] = yield olderServers(versionsBeside(found));
  const count = row === null ? 0 : integer(row, 'servers');
  if (row === null || count === 0) return;
  throw storeErrors.create(
    'ERR_POSTERN_STORE_OLD_NODES',
    `this version has to migrate the database (schema ${found} to ${currentSchema.version}), and ${count} server${count === 1 ? '' : 's'} of an older version ${count === 1 ? 'is' : 'are'} still connected (${textOrNull(row, 'addresses') ?? 'local'}): stop them first, or set database_migrate_under_old_nodes to true, which makes them reject writes`,
    { details: { schema_version: String(found), known_schema_version: String(currentSchema.version) } },
  );
}

/** Holds until the end of the transaction: a server that starts meanwhile waits for the migration lock. */
export function* refuseWhileServersRun(): Program<void> {
  const row = (yield* queryOne(TRY_NO_SERVERS_LOCK)) as { readonly locked?: unknown } | null;
  if (row?.locked === true) return;
  throw storeErrors.create(
    'ERR_POSTERN_STORE_IN_USE',
    'a Postern server is connected to the database: stop all servers first',
  );
}
