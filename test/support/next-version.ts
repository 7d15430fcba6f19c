import { cpSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { currentSchema, migrations } from '../../src/store/sql/schema/migrations.ts';
import {
  counter,
  dropIndex,
  index,
  type Migration,
  type Schema,
  schemaAfter,
  table,
  textColumn,
} from '../../src/store/sql/schema/schema.ts';
import { LAUNCHER } from './server-process.ts';
import { sharedBuild } from './shared-build.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SCHEMA_FOLDER = 'src/store/sql/schema';

/**
 * The migrations of made-up next versions. `additive`: servers of this version go on beside it. `breaking`: they
 * cannot, because it does not name their schema.
 */
const MADE_UP = {
  additive: {
    version: currentSchema.version + 1,
    compatibleFrom: currentSchema.version,
    steps: [table('made_up', [textColumn('name')], ['name']), index('events', ['type']), counter('made_up_seq')],
  },
  breaking: {
    version: currentSchema.version + 1,
    steps: [table('made_up', [textColumn('name')], ['name']), dropIndex('events', ['created_at_ms'])],
  },
} as const satisfies Record<string, Migration>;

/**
 * The program of the version before: this one, until there is a release. `POSTERN_TEST_PREVIOUS` names the launcher of
 * another installation, such as a checkout of the last release (see CONTRIBUTING.md).
 */
export const PREVIOUS_LAUNCHER = process.env['POSTERN_TEST_PREVIOUS'] ?? LAUNCHER;

/** A version of Postern that does not exist yet: this one's sources with one more migration. */
export interface NextVersion {
  /** Starts its program. */
  readonly launcher: string;
  /** All migrations that it knows. */
  readonly migrations: readonly Migration[];
  readonly schema: Schema;
  /** A file of its program, loaded into this process. */
  readonly load: <Module>(path: string) => Promise<Module>;
}

export async function nextVersion(kind: keyof typeof MADE_UP): Promise<NextVersion> {
  const root = await sharedBuild(`next-version-${kind}`, async (folder) => writeSources(folder, MADE_UP[kind]));
  const all: readonly Migration[] = [...migrations, MADE_UP[kind]];
  return {
    launcher: join(root, 'bin', 'postern.mjs'),
    migrations: all,
    schema: schemaAfter(all),
    load: (path) => import(pathToFileURL(join(root, path)).href),
  };
}

function writeSources(folder: string, next: Migration): void {
  for (const path of ['src', 'bin', 'package.json', 'openapi.json'])
    cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const schemaFolder = join(folder, SCHEMA_FOLDER);
  renameSync(join(schemaFolder, 'migrations.ts'), join(schemaFolder, 'migrations-before.ts'));
  const text = `
    import { migrations as before } from './migrations-before.ts';
    import { schemaAfter } from './schema.ts';
    export const migrations = [...before, ${JSON.stringify(next)}];
    export const currentSchema = schemaAfter(migrations);
  `;
  writeFileSync(join(schemaFolder, 'migrations.ts'), text);
}
