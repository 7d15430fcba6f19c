import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isLongForm, shortFormOf } from '../../tools/test-runner/long-forms.ts';
import { filesIn, projectRoot } from './source-files.ts';

const files = filesIn('src/**/*.ts', 'test/**/*.ts', 'tools/**/*.ts', 'bench/**/*.ts').map((path) => ({
  path,
  text: readFileSync(join(projectRoot, path), 'utf8'),
}));

test('tests are written with suite and test, not with describe and it', () => {
  const imports = /import\s*\{[^}]*\b(describe|it)\b[^}]*\}\s*from 'node:test'/;
  const others = files.filter(({ text }) => imports.test(text));
  assert.deepEqual(
    others.map(({ path }) => path),
    [],
  );
});

test('a test in src stands beside the file that it tests, or in the folder of its module', () => {
  const paths = new Set(files.map(({ path }) => path));
  const lost = [...paths].filter(
    (path) =>
      /^src\/.*\.test\.ts$/.test(path) &&
      !path.startsWith('src/modules/') &&
      !paths.has(path.replace(/\.test\.ts$/, '.ts')),
  );
  assert.deepEqual(lost, []);
});

test('a test in src does not start the server: such tests stand in test', () => {
  const starts = /from '[^']*(?:-world|\/server|\/server-process)\.ts'/;
  const wrong = files.filter(({ path, text }) => /^src\/.*\.test\.ts$/.test(path) && starts.test(text));
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  );
});

test('a long form names a short form that npm test runs', () => {
  const long = files.filter(({ path, text }) => path.endsWith('.test.ts') && /^\/\/ Long form:/m.test(text));
  assert(long.length > 0);
  const wrong = long.filter(({ text }) => {
    const short = files.find(({ path }) => path === shortFormOf(text));
    return short === undefined || isLongForm(join(projectRoot, short.path));
  });
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  );
});

test('a comment for the test runner has a form that the runner reads', () => {
  const form = /^\/\/ (Own process: \S|Process of [\w ]+: \S|Long form: \S.* Short form: \S+\.test\.ts$)/;
  const wrong = files
    .filter(({ path }) => path.endsWith('.test.ts'))
    .flatMap(({ path, text }) =>
      (text.match(/^[ \t]*\/\/\s*(own process|process of|long form|short form)\b.*$/gim) ?? [])
        .filter((line) => !form.test(line))
        .map((line) => `${path}: ${line.trim()}`),
    );
  assert.deepEqual(wrong, []);
});
