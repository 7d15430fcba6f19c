import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { parse } from 'yaml';
import { settingNames } from '../../src/app/settings/schema.ts';
import { filesIn, MODULE_CONTRACT, productFiles, projectRoot } from './source-files.ts';

interface Row {
  readonly what: string;
  /** Such as `src/modules`; null where nothing new has a folder. */
  readonly folder: string | null;
  readonly changed: readonly string[];
}

/** Composition roots may know one noun by name; a new one changes nothing in them. */
const ROOTS = 'src/app/main/';
/**
 * The store implements this interface of one module, for state that changes with traffic:
 * docs/internals/decisions/0025.
 */
const IMPLEMENTED_BY_THE_STORE = 'src/modules/contract/login-store.ts';

const files = productFiles();
const rows = tableRows();

suite('the table "Where do I add" of ARCHITECTURE.md', () => {
  test('names files that exist', () => {
    const missing = rows.flatMap(({ changed }) => changed).filter((path) => filesIn(withoutNames(path)).length === 0);
    assert.deepEqual(missing, []);
    assert.equal(rows.length, 11);
  });

  for (const { what, folder, changed } of rows) {
    if (folder === null) continue;

    test(`${what} is imported by its own folder and the listed files only`, () => {
      const importers = new Set<string>();
      for (const { path, imports } of files) {
        for (const { target } of imports) {
          if (target === IMPLEMENTED_BY_THE_STORE || target.startsWith(MODULE_CONTRACT)) continue;
          const own = new RegExp(`^${folder}/[a-z0-9_]+/`).exec(target)?.[0];
          if (own !== undefined && !path.startsWith(own) && !path.startsWith(ROOTS)) importers.add(path);
        }
      }
      const listed = [...importers].filter(
        (path) => !path.startsWith(`${folder}/`) || path === `${folder}/registry.ts`,
      );
      assert.deepEqual(listed, changed);
    });
  }

  test('lists the files that declare the settings of the program', () => {
    const declaring = changedBy('a setting of the program').slice(0, -1);
    const defaults = changedBy('a setting of the program').at(-1) ?? '';
    const declared = new Set(Object.keys(parse(textOf(defaults)) as object));
    const ofModules = filesIn(withoutNames(changedBy('a setting of a module')[0] ?? '')).map(textOf);
    for (const name of settingNames) {
      const isDeclared = (text: string): boolean => new RegExp(`^\\s+${name}: `, 'm').test(text);
      if (declaring.some((path) => isDeclared(textOf(path))))
        assert.ok(declared.has(name), `${name} has no default in ${defaults}`);
      else assert.ok(ofModules.some(isDeclared), `${name} is declared in no listed file`);
    }
  });

  test('lists the files that hold the tables of errors', () => {
    const tables = files.filter(({ text }) => / = errorTable\(/.test(text)).map(({ path }) => path);
    const listed = changedBy('an error').flatMap((path) => filesIn(withoutNames(path)));
    // These commands are parts of the command line, and flags are used without any part.
    const others = ['agent', 'import', 'service', 'up']
      .map((part) => `src/app/cli/${part}/errors.ts`)
      .concat('src/kit/flags.ts', 'src/kit/load-part.ts');
    assert.deepEqual(tables.sort(), [...listed.filter((path) => path !== 'src/kit/errors.ts'), ...others].sort());
  });

  test('lists the migrations and the test that holds their fingerprints', () => {
    const [migrations = '', fingerprints = ''] = changedBy('a column or table');
    assert.match(textOf(migrations), /export const migrations: readonly Migration\[\]/);
    assert.match(textOf(fingerprints), /fingerprint: '/);
  });
});

function tableRows(): readonly Row[] {
  const [, section = ''] = textOf('ARCHITECTURE.md').split('## Where do I add');
  return Array.from(
    section.matchAll(/^\| (an? [^|]+) \| ([^|]+) \| ([^|]+) \|$/gm),
    ([, what = '', folder = '', changed = '']) => ({
      what,
      folder: /`(.+)\/<name>`/.exec(folder)?.[1] ?? null,
      changed: Array.from(changed.matchAll(/`([^`]+)`/g), ([, path = '']) => path),
    }),
  );
}

function changedBy(what: string): readonly string[] {
  return rows.find((row) => row.what === what)?.changed ?? [];
}

/** A pattern that finds every file of a path such as `src/modules/<name>/errors.ts`. */
function withoutNames(path: string): string {
  return path.replaceAll(/<\w+>/g, '*');
}

function textOf(path: string): string {
  const file = join(projectRoot, path);
  assert.ok(existsSync(file), `${path} does not exist`);
  return readFileSync(file, 'utf8');
}
