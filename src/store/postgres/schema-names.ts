import { storeErrors } from '../errors.ts';
import { type Program, queryOne, textOrNull } from '../sql/statement.ts';

/** Names that belong to one store: a database may hold several, each in a schema of its own. */
export interface SchemaNames {
  readonly channel: string;
}

/** First keys of two-part advisory locks; the second is a hash of the schema's name. */
const MIGRATION_LOCK = 0x706f_0001;
const SERVERS_LOCK = 0x706f_0002;

/** Whoever makes or changes tables holds it until their transaction ends. */
export const TAKE_MIGRATION_LOCK = `SELECT pg_advisory_xact_lock(${MIGRATION_LOCK}, hashtext(current_schema()))`;
/** Every open store holds it, shared, on its listening connection, so that a restore can see that somebody is there. */
export const TRY_SERVER_LOCK = `SELECT pg_try_advisory_lock_shared(${SERVERS_LOCK}, hashtext(current_schema())) AS locked`;
export const TRY_NO_SERVERS_LOCK = `SELECT pg_try_advisory_xact_lock(${SERVERS_LOCK}, hashtext(current_schema())) AS locked`;

export function* readSchemaNames(): Program<SchemaNames> {
  const row = yield* queryOne(
    "SELECT current_schema() AS name, md5(current_schema()) AS hash, current_setting('server_encoding') AS encoding",
  );
  if (row === null || textOrNull(row, 'name') === null) {
    throw storeErrors.create(
      'ERR_POSTERN_STORE_UNAVAILABLE',
      'the search_path of the database connection names no schema that exists: create it, or change the address',
    );
  }
  if (row['encoding'] !== 'UTF8') {
    throw storeErrors.create(
      'ERR_POSTERN_STORE_UNAVAILABLE',
      `the database has the encoding ${row['encoding']}, and Postern needs one with UTF8`,
    );
  }
  // Hashed, because a schema's name may be as long as a channel's may be.
  return { channel: `postern_${row['hash']}` };
}
