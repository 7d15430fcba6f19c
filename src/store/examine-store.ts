import { statSync } from 'node:fs';
import { databasePath } from './data-directory.ts';
import { loadKeyring, verifyKeyCheck } from './keyring.ts';
import { openOfflineDatabase, type RunProgram, type StoreLocation } from './offline-database.ts';
import { olderServers } from './postgres/schema-locks.ts';
import { isCompatible, isFollowable, readMeta, schemaVersion, versionsBeside } from './sql/schema/migrate.ts';
import { currentSchema, migrations } from './sql/schema/migrations.ts';
import type { MigrationStep } from './sql/schema/schema.ts';
import { integer, type Program, textOrNull } from './sql/statement.ts';
import { holderOf } from './sqlite/directory-lock.ts';

export interface PendingMigration {
  readonly version: number;
  /** One sentence part for each step, such as "create the table leases". */
  readonly steps: readonly string[];
}

export interface StoreExamination {
  readonly engine: StoreLocation['engine'];
  /** 0 for a store that does not exist yet. */
  readonly schemaVersion: number;
  readonly knownSchemaVersion: number;
  readonly pending: readonly PendingMigration[];
  /**
   * Whether servers of the store's version can run on beside the migration, or this one on the tables of a newer
   * version.
   */
  readonly isCompatible: boolean;
  /** Null if it fits, or if there is no store yet. */
  readonly keyProblem: Error | null;
  /** Servers of an older version that are connected to the database, and their addresses. */
  readonly olderServers: { readonly count: number; readonly addresses: string };
  /** The process that holds the data directory. */
  readonly holder: string | null;
}

/** Looks at a store as the next start would, and changes nothing. */
export async function examineStore(location: StoreLocation): Promise<StoreExamination> {
  const { engine } = location;
  const isMissing = engine === 'sqlite' && !hasDatabase(location.dataDir);
  const holder = engine === 'sqlite' ? holderOf(location.dataDir) : null;
  const known = { engine, knownSchemaVersion: currentSchema.version, holder, isCompatible: true };
  const none = { count: 0, addresses: '' };
  if (isMissing) return { ...known, schemaVersion: 0, pending: [], keyProblem: null, olderServers: none };
  const database = openOfflineDatabase(location, 'read');
  try {
    return await database.transaction('read', async (run) => {
      const found = await run(schemaVersion(database.dialect));
      return {
        ...known,
        schemaVersion: found,
        isCompatible: found === 0 || (await run(canRunBeside(found))),
        pending: found === 0 ? [] : pendingAfter(found),
        keyProblem: found === 0 ? null : await keyProblem(run, location),
        olderServers: engine === 'postgres' && found > 0 ? await run(serversInTheWay(found)) : none,
      };
    });
  } finally {
    await database.close();
  }
}

/** Throws when it cannot be seen: "no store yet" would be wrong for another user's directory, which has mode 0700. */
function hasDatabase(dataDir: string): boolean {
  try {
    statSync(databasePath(dataDir));
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return false;
    throw new Error(`the data directory ${dataDir} cannot be read (${code})`);
  }
}

function pendingAfter(found: number): readonly PendingMigration[] {
  return migrations
    .filter(({ version }) => version > found)
    .map(({ version, steps }) => ({ version, steps: steps.map(stepText) }));
}

function stepText(step: MigrationStep): string {
  switch (step.do) {
    case 'create_table':
      return `create the table ${step.table.name}`;
    case 'create_index':
      return `create the index ${step.index.name}`;
    case 'drop_index':
      return `drop the index ${step.index}`;
    case 'drop_table':
      return `drop the table ${step.table}`;
    case 'add_counter':
      return `add the counter ${step.counter}`;
  }
}

async function keyProblem(run: RunProgram, { dataDir, secretKey = null }: StoreLocation): Promise<Error | null> {
  const source = { dataDir, configured: secretKey };
  const check = await run(readMeta('key_check'));
  if (check === null) return null;
  try {
    verifyKeyCheck(check, loadKeyring({ ...source, mayCreate: false }), source);
    return null;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function* canRunBeside(found: number): Program<boolean> {
  if (found <= currentSchema.version) return isCompatible(found);
  return isFollowable(found, yield* readMeta('compatible_from'), currentSchema.version);
}

function* serversInTheWay(found: number): Program<StoreExamination['olderServers']> {
  const [row] = yield olderServers(versionsBeside(found));
  return row === undefined
    ? { count: 0, addresses: '' }
    : { count: integer(row, 'servers'), addresses: textOrNull(row, 'addresses') ?? 'local' };
}
