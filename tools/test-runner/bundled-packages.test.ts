import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '../../test/support/temp-dir.ts';
import { bundledPackageUrls, bundlePackages } from './bundled-packages.ts';

test('the packages that the program imports export the same from a bundle, and share what they share', async (t) => {
  const root = await tempDir(t);
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  write('package.json', JSON.stringify({ dependencies: { one: '1', two: '1', unused: '1' } }));
  for (const name of ['one', 'two', 'unused', 'reflect-metadata'])
    write(`node_modules/${name}/package.json`, JSON.stringify({ main: 'index.js' }));
  write('node_modules/reflect-metadata/index.js', '');
  write('node_modules/one/index.js', `exports.shared = {}; exports.where = () => 'one';`);
  write('node_modules/two/index.js', `module.exports = class Two {}; module.exports.shared = require('one').shared;`);
  write('src/program.ts', `import { where } from 'one'; const two = await import('two'); import 'node:fs';`);
  write('src/program.test.ts', `import 'unused'; import x from 'unused';`);

  const before = process.env['POSTERN_TEST_PACKAGES'];
  t.after(() => {
    if (before === undefined) delete process.env['POSTERN_TEST_PACKAGES'];
    else process.env['POSTERN_TEST_PACKAGES'] = before;
  });
  bundlePackages(root, join(root, 'bundled'));
  const urls = bundledPackageUrls();
  assert.deepEqual([...urls.keys()], ['one', 'two']);
  const [one, two] = await Promise.all([...urls.values()].map((url) => import(url)));
  assert.deepEqual([one.where(), two.default.name], ['one', 'Two']);
  assert.equal(two.default.shared, one.shared);
});
