import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { filesIn, importsIn, productFiles, projectRoot } from './source-files.ts';

/** What packages and launchers import. */
const ENTRY_POINTS = ['src/client/index.ts', 'src/tunnel/agent/index.ts', 'src/app/main/cli.ts'];

/** Exported for a test that looks at this one piece. */
const FOR_TESTS = [
  // For the first migration that removes something.
  'src/store/sql/schema/schema.ts dropIndex',
  'src/store/sql/schema/schema.ts dropTable',
];

/**
 * Types are left out: an exported function needs the names of its parameters exported, whether or not anybody imports
 * them.
 */
const VALUE = /^export (?:async )?(?:const|let|function\*?|class)\s+(\w+)/gm;

test('every exported value is imported by another file of the program, its page or its tools', () => {
  const importers = filesIn('src/**/*.ts', 'console/src/**/*.{ts,tsx}', 'tools/**/*.ts', 'bench/**/*.ts').filter(
    (path) => !path.endsWith('.test.ts'),
  );
  const imported = new Set(importers.flatMap((path) => namesImportedBy(path)));
  const tested = new Set(filesIn('src/**/*.test.ts', 'test/**/*.ts').flatMap((path) => namesImportedBy(path)));
  const unused = productFiles()
    .filter(({ path }) => !ENTRY_POINTS.includes(path) && !imported.has(`${path} *`))
    .flatMap(({ path, text }) =>
      Array.from(text.matchAll(VALUE), ([, name = '']) => ({ key: `${path} ${name}`, isOwn: usesIn(text, name) > 1 })),
    )
    // A test may look at one piece of a file that the file itself uses.
    .filter(({ key, isOwn }) => !imported.has(key) && !(isOwn && tested.has(key)))
    .map(({ key }) => key);
  assert.deepEqual(
    unused.filter((name) => !FOR_TESTS.includes(name)),
    [],
    'drop "export", or the code if nothing in its file uses it',
  );
  assert.deepEqual(
    FOR_TESTS.filter((name) => !unused.includes(name)),
    [],
    'these need no exception: take them off the list',
  );
});

function usesIn(text: string, name: string): number {
  return text.match(new RegExp(`\\b${name}\\b`, 'g'))?.length ?? 0;
}

/** `path name` for each import; `path *` where the whole file is imported. */
function namesImportedBy(path: string): string[] {
  return importsIn(path, readFileSync(join(projectRoot, path), 'utf8')).flatMap(({ target, names }) =>
    names.map((name) => `${target} ${name}`),
  );
}
