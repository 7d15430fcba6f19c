import assert from 'node:assert/strict';
import { test } from 'node:test';
import { packedFiles } from '../../support/packed-files.ts';

/** `test/e2e/process/built-package.test.ts` builds it and runs it. The other tests run a bundle in the same layout. */
test('the package has what runs and what is read, and nothing else', async () => {
  const names = await packedFiles();
  for (const path of ['LICENSE', 'README.md', 'bin/postern.mjs', 'docs/README.md', 'openapi.json'])
    assert(names.has(path), `${path} is missing: ${names.size} files`);
  // Pictures are for the pages of a forge, and took 7 % of the package.
  const unwanted = [...names].filter((path) =>
    /\.(png|svg|gif|jpe?g)$|\.test\.|^dist\/postern-|(^|\/)(src|test|tools|node_modules)\/(?!.*README\.md$)/.test(path),
  );
  assert.deepEqual(unwanted, []);
});
