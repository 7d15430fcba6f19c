import { storeErrors } from '../../errors.ts';
import { integer, type Program, queryOne, statement, text } from '../statement.ts';
import { currentSchema, migrations } from './migrations.ts';
import { type Dialect, type Migration, stepSql } from './schema.ts';

interface MigrateOptions {
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

/** Whether servers that know the tables of version `found` can go on while these migrations run. */
export function isCompatible(found: number, list: readonly Migration[] = migrations): boolean {
  const pending = list.filter(({ version }) => version > found);
  return pending.every(({ compatibleFrom }) => compatibleFrom !== undefined && compatibleFrom <= found);
}

/** Versions of the servers that can go on beside the pending migrations, and beside this server. */
export function versionsBeside(found: number, list: readonly Migration[] = migrations): readonly number[] {
  const newest = list.at(-1)?.version ?? 0;
  const pending = list.filter(({ version }) => version > found);
  const oldest = Math.max(...pending.map(({ version, compatibleFrom = version }) => compatibleFrom));
  if (pending.length === 0 || !isCompatible(found, list)) return [newest];
  return Array.from({ length: newest - oldest + 1 }, (_, at) => oldest + at);
}

/** The server that hands over keeps working with the store until its last request is answered. */
export function* refuseIncompatible(dialect: Dialect): Program<void> {
  const found = yield* schemaVersion(dialect);
  if (found === 0 || isCompatible(found)) return;
  throw storeErrors.create(
    'ERR_POSTERN_STORE_OLD_NODES',
    `this version has to change the tables of the database (schema ${found} to ${currentSchema.version}) in a way that the running version cannot follow: stop it, then start this version`,
    { details: { schema_version: String(found), known_schema_version: String(currentSchema.version) } },
  );
}

/**
 * Whether a server that knows the tables of `known` can use those of a newer version. `compatibleFrom` is the row that
 * the migration wrote: its own version, and the oldest one that can go on beside it.
 */
export function isFollowable(version: number, compatibleFrom: string | null, known: number): boolean {
  const [of, from] = (compatibleFrom ?? '').split(' ').map(Number);
  return of === version && from !== undefined && from <= known;
}

type MetaName = 'schema_version' | 'compatible_from' | 'account_id' | 'key_check';

export function* readMeta(name: MetaName): Program<string | null> {
  const row = yield* queryOne('SELECT value FROM meta WHERE name = ?', [name]);
  return row === null ? null : text(row, 'value');
}

export function* writeMeta(name: MetaName, value: string): Program<void> {
  yield statement(
    'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    [name, value],
  );
}
