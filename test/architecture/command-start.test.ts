import assert from 'node:assert/strict';
import { test } from 'node:test';
import { productFiles } from './source-files.ts';

/**
 * A command with one API request spent 0.8 to 1.5 s loading modules. A time limit would measure the machine, so this
 * tests the cause: what `postern api` and `postern events` load before they run.
 */
const ENTRIES = ['src/app/main/cli.ts', 'src/app/cli/api/api-command.ts', 'src/app/cli/events/events-command.ts'];
const files = new Map(productFiles().map((file) => [file.path, file]));

function loadedBy(entry: string): ReadonlySet<string> {
  const loaded = new Set<string>();
  const visit = (path: string): void => {
    if (loaded.has(path)) return;
    loaded.add(path);
    for (const { target, isTypeOnly } of files.get(path)?.imports ?? []) {
      // An import() inside a function loads nothing until it runs; the others are at the start of a line.
      const isStatic = !new RegExp(`import\\('[^']*${target.split('/').at(-1)}'\\)`).test(files.get(path)?.text ?? '');
      if (!isTypeOnly && isStatic) visit(target);
    }
  };
  visit(entry);
  return loaded;
}

for (const entry of ENTRIES) {
  test(`${entry} loads no registry, no settings and no third-party package`, () => {
    const heavy = [...loadedBy(entry)].filter((path) => {
      const isThirdParty = !path.startsWith('src/') && !path.startsWith('node:');
      return (
        isThirdParty ||
        /\/registry\.ts$|^src\/(app\/settings|control\/(documents|resources|api)|modules|store)\//.test(path)
      );
    });
    assert.deepEqual(heavy, []);
  });
}

test('values of node:http come from src/kit/http/node-http.ts, which does not load undici', () => {
  const others = [...files.values()].filter(({ imports }) =>
    imports.some(({ target, isTypeOnly }) => target === 'node:http' && !isTypeOnly),
  );
  assert.deepEqual(
    others.map(({ path }) => path),
    [],
  );
});
