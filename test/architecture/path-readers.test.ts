import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { backends } from '../../src/backends/registry.ts';
import { pathReaderOf } from '../../src/modules/module-config.ts';
import { modules } from '../../src/modules/registry.ts';

const SRC = join(import.meta.dirname, '../../src');
/** The path of a request, as its property or taken apart. */
const READS = /\brequest\.(?:path|target)\b|\b(?:path|target)\b[^;()]*\}: (?:TrafficRequest|OwnPathRequest)\b/;
/** Files that have the path without depending on what it says. */
const KEEPS: Readonly<Record<string, string>> = {
  'access/access-on-route.ts': 'paths that the edge serves itself, which are never odd',
  'access/guests/own-guest-path.ts': 'the query of a path that the edge serves itself',
};

suite('modules and backends declare whether they read paths', () => {
  for (const { name, readsPath } of modules) {
    if (readsPath !== false) continue;
    test(`${name} reads none, as it declares`, () => {
      const files = globSync(`modules/${name}/**/*.ts`, { cwd: SRC }).filter((file) => !file.endsWith('.test.ts'));
      assert.ok(files.length > 0);
      for (const file of files) {
        if (KEEPS[file.slice('modules/'.length)] !== undefined) continue;
        assert.doesNotMatch(readFileSync(join(SRC, file), 'utf8'), READS, `${file} has the path of a request`);
      }
    });
  }

  test('only one kind of backend has a part in it', () => {
    assert.deepEqual(
      backends.filter(({ readsPath }) => readsPath !== false).map(({ name }) => name),
      ['files'],
    );
  });

  test('what declares nothing, or fails to say it, counts as a reader', () => {
    const failing = {
      name: 'failing',
      readsPath: (): never => {
        throw new Error('broken');
      },
    };
    assert.equal(pathReaderOf(failing, {}), 'failing');
    assert.equal(pathReaderOf({ name: 'silent' } as never, {}), 'silent');
    assert.equal(pathReaderOf({ name: 'free', readsPath: false }, {}), null);
  });
});
