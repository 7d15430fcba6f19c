import { storeErrors } from '../../errors.ts';
import { integer, type Program, queryOne, statement, text } from '../statements/statement.ts';
import { isFollowable } from './followable.ts';
import { readMeta, writeMeta } from './meta-rows.ts';
import { currentSchema, migrations } from './migrations.ts';
import { type Dialect, type Migration, stepSql } from './schema.ts';

export interface MigrateOptions {
  readonly dialect: Dialect;
  /**
   * For restoring a backup of an older schema: its rows are inserted at their own version, then the rest is migrated.
   */
  readonly upTo?: number;
  /**
   * Accepts a store that a newer version has only added to: during a rolling upgrade a server of the older version may
   * have to start again.
   */
  readonly mayFollow?: boolean;
  /** The version of the store, if the caller has read it. */
  readonly found?: number;
  /** For tests of future migrations. */
  readonly migrations?: readonly Migration[];
}

/** Migrates the store to the newest schema inside the caller's transaction. A newer store is rejected unchanged. */
export function* migrate(options: MigrateOptions): Program<void> {
  const list = options.migrations ?? migrations;
  const newest = list.at(-1)?.version ?? 0;
  const found = options.found ?? (yield* schemaVersion(options.dialect));
  if (found > newest) {
    if (options.mayFollow === true && isFollowable(found, yield* readMeta('compatible_from'), newest)) return;
    throw tooNew(found, newest);
  }
  const pending = list.filter(({ version }) => version > found && version <= (options.upTo ?? newest));
  for (const { version, compatibleFrom = version, steps } of pending) {
    for (const step of steps) yield statement(stepSql(options.dialect, step));
    yield* writeMeta('schema_version', String(version));
    yield* writeMeta('compatible_from', `${version} ${compatibleFrom}`);
  }
}

/** 0 for a store that does not exist yet. */
export function* schemaVersion(dialect: Dialect): Program<number> {
  const table = yield* queryOne(
    dialect === 'sqlite'
      ? "SELECT count(*) AS found FROM sqlite_schema WHERE type = 'table' AND name = 'meta'"
      : "SELECT count(*) AS found FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'meta'",
  );
  if (table === null || integer(table, 'found') === 0) return 0;
  const row = yield* queryOne('SELECT value FROM meta WHERE name = ?', ['schema_version']);
  return row === null ? 0 : Number(text(row, 'value'));
}

export function tooNew(found: number, known: number = currentSchema.version) {
  return storeErrors.create(
    'ERR_POSTERN_STORE_TOO_NEW',
    `the store has schema version ${found}, but this version of Postern supports only versions up to ${known}: start the version that wrote the store, or a later one`,
    { details: { schema_version: String(found), known_schema_version: String(known) } },
  );
}
