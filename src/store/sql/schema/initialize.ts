import { createKsuidSource } from '../../../kit/text/ksuid.ts';
import { storeErrors } from '../../errors.ts';
import { type Keyring, type KeySource, loadKeyring, sealKeyCheck, verifyKeyCheck } from '../../keyring.ts';
import { adoptCommit, type CommitMark } from '../commit-rows.ts';
import { integer, type Program, statement, text } from '../statement.ts';
import { migrate, writeMeta } from './migrate.ts';
import { currentSchema } from './migrations.ts';
import type { Dialect } from './schema.ts';

export interface Initialized {
  /** The last commit of the store when it was opened. */
  readonly commit: CommitMark;
  readonly keyring: Keyring;
  readonly accountId: string;
  readonly revision: number;
}

/**
 * Migrates, checks the secret key, and creates what a new store needs, all in one transaction that other starting
 * processes wait for. The key file is written before the check value is committed: a crash in between leaves a key
 * without a store, which the next start uses, never a store without its key.
 */
export function* initialize(dialect: Dialect, source: KeySource, found?: number): Program<Initialized> {
  yield* migrate({ dialect, mayFollow: true, ...(found !== undefined && { found }) });
  yield* refuseOtherTables(dialect);
  const { check, knownAccountId, commit, revision } = yield* readState();
  const keyring = loadKeyring({ ...source, mayCreate: check === null });
  if (check === null) yield* writeMeta('key_check', sealKeyCheck(keyring));
  else verifyKeyCheck(check, keyring, source);
  const accountId = knownAccountId ?? `ac_${createKsuidSource()(Date.now())}`;
  if (check === null) yield* writeMeta('account_id', accountId);
  return { keyring, accountId, revision, commit: commit ?? (yield* adoptCommit()) };
}

interface StoredState {
  readonly check: string | null;
  readonly knownAccountId: string | null;
  readonly revision: number;
  readonly commit: CommitMark | null;
}

/** Everything in one round trip. */
function* readState(): Program<StoredState> {
  const rows = yield {
    ...statement("SELECT name, value FROM meta WHERE name IN ('key_check', 'account_id')"),
    also: [
      statement("SELECT value AS revision FROM counter WHERE name = 'revision'"),
      statement('SELECT number, id FROM commits ORDER BY number DESC LIMIT 1'),
    ],
  };
  const meta = new Map(
    rows.flatMap((row) => ('name' in row ? [[text(row, 'name'), text(row, 'value')] as const] : [])),
  );
  const counter = rows.find((row) => 'revision' in row);
  const newest = rows.find((row) => 'number' in row);
  if (counter === undefined) throw new Error('the store has no counter revision');
  return {
    check: meta.get('key_check') ?? null,
    knownAccountId: meta.get('account_id') ?? null,
    revision: integer(counter, 'revision'),
    commit: newest === undefined ? null : { number: integer(newest, 'number'), id: text(newest, 'id') },
  };
}

const COLUMNS: Readonly<Record<Dialect, string>> = {
  sqlite: `SELECT m.name AS table_name, c.name AS column_name FROM sqlite_schema m
    JOIN pragma_table_info(m.name) c WHERE m.type = 'table'`,
  postgres: `SELECT CAST(table_name AS text) AS table_name, CAST(column_name AS text) AS column_name
    FROM information_schema.columns WHERE table_schema = current_schema()`,
};

/**
 * The version of a schema is final only once it is released: a store of another commit may have the same version and
 * other tables. Its statements would fail one by one, with errors that name no cause.
 */
function* refuseOtherTables(dialect: Dialect): Program<void> {
  const found = new Set<string>();
  for (const row of yield statement(COLUMNS[dialect])) {
    found.add(text(row, 'table_name'));
    found.add(`${text(row, 'table_name')}.${text(row, 'column_name')}`);
  }
  for (const { name, columns } of currentSchema.tables) {
    const lacking = found.has(name) ? columns.find((column) => !found.has(`${name}.${column.name}`)) : undefined;
    if (!found.has(name)) throw otherBuild(`the table ${name}`);
    if (lacking !== undefined) throw otherBuild(`the column ${lacking.name} in the table ${name}`);
  }
}

function otherBuild(lacking: string) {
  return storeErrors.create(
    'ERR_POSTERN_STORE_OTHER_BUILD',
    `the store lacks ${lacking}, although its schema version is one that this program knows: another commit of Postern wrote it, or somebody changed its tables. Nothing was changed. Start the program that wrote it. To move its configuration to a new store, run postern export there and postern apply here`,
  );
}
