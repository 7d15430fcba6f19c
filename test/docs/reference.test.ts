import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { modules } from '../../src/modules/registry.ts';
import { keysOfObjects } from '../architecture/object-keys.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
/** The words in code style of a text. */
const named = (text: string): readonly string[] => Array.from(text.matchAll(/`([^`]+)`/g), ([, word]) => word ?? '');

suite('docs/reference/log-fields.md', () => {
  const [ofServer = '', ofAgent = ''] = read('docs/reference/log-fields.md').split('## Agents');
  const rows = Array.from(ofServer.matchAll(/^\| (`.*?) \| (.*) \|$/gm), ([, fields, meaning]) => ({
    fields,
    meaning,
  }));

  test('names every field whose name is frozen, and no other', () => {
    const frozen = read('test/architecture/frozen-names.txt').split('\n');
    const fields = frozen.flatMap((line) => /^(?:log field: |ready line: )(\w+)/.exec(line)?.[1] ?? []);
    assert.ok(fields.length > 80);
    assert.deepEqual([...new Set(rows.flatMap((row) => named(row.fields ?? '')))].sort(), [...new Set(fields)].sort());
  });

  test('names every part of the addresses of the ready line', () => {
    const parts = read('test/architecture/frozen-names.txt').matchAll(/^ready line: addresses\.(\w+),/gm);
    const row = rows.find(({ fields }) => fields === '`addresses`')?.meaning ?? '';
    for (const [, part = ''] of parts) assert.ok(named(row).includes(part), part);
  });

  test('names the events of an agent and their fields', () => {
    const text = ['plain-lines.ts', 'docker/docker-tunnels.ts']
      .map((path) => read(`src/app/cli/agent/${path}`))
      .join('\n');
    const written = keysOfObjects(text, /(?:fields(?: =|:) (?:withoutNulls\()?|, )(?=\{ ?\n? *event: ')/g);
    const events = Array.from(text.matchAll(/\bevent: '(\w+)'/g), ([, event]) => event ?? '');
    assert.ok(written.length > 30 && events.length > 9);
    assert.deepEqual(
      [...written, ...events].filter((name) => !named(ofAgent).includes(name)),
      [],
    );
  });
});

test('docs/reference/routes.md names the modules of a route that decide who may enter', () => {
  const page = read('docs/reference/routes.md');
  const [, list = ''] = /Access modules decide who may enter: ([^.]*)\./.exec(page) ?? [];
  const access = modules.filter(({ on, decidesAccess }) => on.includes('requests') && decidesAccess);
  assert.deepEqual(
    named(list),
    access.map(({ name }) => name),
  );
});

test('docs/README.md has one row with every module, and docs/concepts.md a row for each', () => {
  const lines = read('docs/README.md').split('\n');
  const list = lines.filter((line) => line.startsWith('| [Modules](../src/modules)'));
  assert.equal(list.length, 1);
  const isModule = (word: string): boolean => modules.some(({ name }) => name === word);
  const names = modules.map(({ name }) => name);
  assert.deepEqual(named(list[0] ?? '').filter(isModule), names.toSorted());
  assert.deepEqual(
    Array.from(read('docs/concepts.md').matchAll(/^\| \[`(\w+)`\]\(\.\.\/src\/modules/gm), ([, name]) => name),
    names,
  );
});

test('docs/reference/configuration.md has every setting in a group that says what it is about', () => {
  assert.doesNotMatch(
    read('docs/reference/configuration.md'),
    /^## Other settings/m,
    'name its group in tools/generators/configuration.ts',
  );
});
