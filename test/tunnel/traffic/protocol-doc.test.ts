import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as protocol from '../../../src/tunnel/protocol/protocol.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const page = readFileSync(join(root, 'docs/reference/tunnel-protocol.md'), 'utf8');
const messages = readFileSync(join(root, 'src/tunnel/protocol/messages.ts'), 'utf8');

suite('docs/reference/tunnel-protocol.md', () => {
  test('names every constant, with its value', () => {
    const missing = Object.entries(protocol).filter(([name, value]) => {
      // As people write them: seconds, and commas between thousands.
      const shown = name.endsWith('_MS') ? `${Number(value) / 1000} s` : value.toLocaleString('en-US');
      return !page.includes(`\`${name}\``) || !page.includes(shown);
    });
    assert.deepEqual(missing, []);
  });

  test('names every message and every field of it', () => {
    const types = [...messages.matchAll(/t: Type\.Literal\('(\w+)'\)/g)].map(([, type]) => type ?? '');
    assert.ok(types.length >= 11);
    assert.deepEqual(
      types.filter((type) => !page.includes(`**\`${type}\`**`)),
      [],
    );
    const fields = new Set(
      [...messages.matchAll(/\b([a-z_]+): (?:Type\.|text\(|claim|Type\.Optional)/g)].map(([, name]) => name ?? ''),
    );
    assert.ok(fields.size > 20);
    assert.deepEqual(
      [...fields].filter((name) => !new RegExp(`\\b${name}\\b`).test(page)),
      [],
    );
  });

  test('names every reason that an agent may report about its service', () => {
    const words = readFileSync(join(root, 'src/tunnel/agent/local/local-failure.ts'), 'utf8');
    const said = [...words.matchAll(/^ {2}\w+: '(\w+)',$/gm)].map(([, word]) => word ?? '');
    assert.ok(said.length >= 6);
    assert.deepEqual(
      said.filter((word) => !page.includes(`| \`${word}\` |`)),
      [],
    );
  });
});

test('docs/internals/life-of-a-tunnel.md names existing files', () => {
  const life = readFileSync(join(root, 'docs/internals/life-of-a-tunnel.md'), 'utf8');
  const named = [...life.matchAll(/`((?:[\w-]+\/)*[\w-]+\.ts)`/g)].map(([, file]) => file ?? '');
  assert.ok(named.length > 30);
  const all = globSync('src/**/*.ts', { cwd: root });
  assert.deepEqual(
    named.filter((file) => !existsSync(join(root, file)) && !all.some((path) => path.endsWith(`/${file}`))),
    [],
  );
});
