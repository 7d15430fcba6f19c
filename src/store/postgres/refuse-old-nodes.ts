import { storeErrors } from '../errors.ts';
import { versionsBeside } from '../sql/schema/compatible.ts';
import { currentSchema } from '../sql/schema/migrations.ts';
import { integer, type Program, textOrNull } from '../sql/statements/statement.ts';
import { olderServers } from './schema-names.ts';

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
