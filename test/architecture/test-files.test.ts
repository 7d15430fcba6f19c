import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
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
