import type { PostgresLocation } from '../offline/store-location.ts';
import { createPostgresOfflineDatabase } from '../postgres/postgres-offline-database.ts';
import { refuseWhileServersRun } from '../postgres/refuse-while-servers-run.ts';
import { schemaVersion, tooNew } from '../sql/schema/migrate.ts';
import { currentSchema } from '../sql/schema/migrations.ts';
import { holdsRecords } from '../sql/schema/table-rows.ts';
import { type Program, statement } from '../sql/statements/statement.ts';
import { notEmpty, type ReplaceOptions } from './replace-options.ts';

/** Drops, creates and fills the tables in one transaction: others see the old store or the new one. */
export async function replacePostgres(options: ReplaceOptions<PostgresLocation>): Promise<void> {
  const { target, replace, fill, beforeVisible } = options;
  const database = createPostgresOfflineDatabase(target.url);
  try {
    await database.transaction('write', async (run) => {
      await run(refuseWhileServersRun());
      const version = await run(schemaVersion('postgres'));
      // This version does not know all of its tables, and could not drop them.
      if (version > currentSchema.version) throw tooNew(version);
      if (version > 0) {
        if (!replace && (await run(holdsRecords(currentSchema)))) throw notEmpty('the database');
        await run(dropTables());
      }
      await fill(run, 'postgres');
      beforeVisible();
    });
  } finally {
    await database.close();
  }
}

function* dropTables(): Program<void> {
  for (const { name } of currentSchema.tables) yield statement(`DROP TABLE IF EXISTS ${name}`);
}
