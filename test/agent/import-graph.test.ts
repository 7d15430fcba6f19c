import assert from 'node:assert/strict';
import { test } from 'node:test';
import { productFiles } from '../architecture/source-files.ts';

/** `postern/agent` is embedded in other programs, which have to trust all of its dependencies. */
const MOST_PACKAGES = 2;

test('the agent reaches at most two third-party packages', () => {
  const files = new Map(productFiles().map((file) => [file.path, file]));
  const seen = new Set<string>();
  const packages = new Set<string>();
  const visit = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    const file = files.get(path);
    assert.ok(file !== undefined, path);
    for (const { target, isOwn, isTypeOnly } of file.imports) {
      if (isTypeOnly || target.startsWith('node:')) continue;
      if (isOwn) visit(target);
      else packages.add(target.split('/', target.startsWith('@') ? 2 : 1).join('/'));
    }
  };
  visit('src/tunnel/agent/index.ts');
  assert.ok(seen.size > 20, 'the graph was followed');
  assert.ok(packages.size <= MOST_PACKAGES, [...packages].join(', '));
  // The second one names the types of served files.
  assert.deepEqual([...packages], ['typebox', 'mime-types']);
});
