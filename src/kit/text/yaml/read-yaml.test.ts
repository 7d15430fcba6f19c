import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { plainValue } from './plain-yaml.ts';
import { readYaml, type YamlRules } from './read-yaml.ts';

const STRICT: YamlRules = { hasAliases: false };
const OWN: YamlRules = { hasAliases: true };
const FOREIGN: YamlRules = { hasAliases: true, isForeign: true };

function readValue(text: string, rules: YamlRules): unknown {
  const { root, problems } = readYaml(text, rules);
  assert.deepEqual(problems, []);
  return root === null ? null : plainValue(root);
}

function problemsOf(text: string, rules: YamlRules): readonly string[] {
  return readYaml(text, rules).problems.map(({ line, column, problem }) => `${line}:${column} ${problem}`);
}

suite('readYaml', () => {
  test('keeps the line of every key and value', () => {
    const { root } = readYaml('a: 1\nb:\n  - x\n  - c: y\n', OWN);
    assert.ok(root?.type === 'map');
    const b = root.entries.get('b');
    assert.ok(b?.node.type === 'list');
    assert.deepEqual([b.line, b.node.line, b.node.items.map(({ line }) => line)], [2, 3, [3, 4]]);
  });

  test('an alias stands for the value of its anchor, on the line of the alias', () => {
    const text = 'base: &b {x: [1]}\nother: *b\nlist: [*b]\n';
    assert.deepEqual(readValue(text, OWN), { base: { x: [1] }, other: { x: [1] }, list: [{ x: [1] }] });
    const { root } = readYaml(text, OWN);
    assert.equal(root?.type === 'map' && root.entries.get('other')?.node.line, 2);
    assert.match(problemsOf(text, STRICT)[0] ?? '', /^1:\d+ has an anchor/);
  });

  test('only a foreign file merges maps, and has keys that are numbers', () => {
    const text = 'base: &b {x: 1, y: 1}\nd:\n  <<: *b\n  y: 2\n';
    assert.deepEqual(readValue(text, FOREIGN), { base: { x: 1, y: 1 }, d: { y: 2, x: 1 } });
    assert.deepEqual(readValue(text, OWN), { base: { x: 1, y: 1 }, d: { '<<': { x: 1, y: 1 }, y: 2 } });
    const several = 'a: &a {x: 1}\nb: &b {x: 2, z: 3}\nc: {<<: [*a, *b]}\n';
    assert.deepEqual((readValue(several, FOREIGN) as { c: unknown }).c, { x: 1, z: 3 });
    assert.match(problemsOf('a: {<<: 5}', FOREIGN)[0] ?? '', /merges/);
    assert.deepEqual(readValue('80: web', FOREIGN), { 80: 'web' });
    assert.deepEqual(problemsOf('a:\n  80: web', OWN), ['2:3 a key in a must be a string: quote it']);
  });

  test('rejects a second document, an unknown tag, a repeated key and what JSON cannot hold', () => {
    for (const rules of [STRICT, OWN, FOREIGN]) {
      assert.match(problemsOf('a: 1\n---\na: 2', rules).join(), /^2:1 starts a second document/);
      assert.match(problemsOf('a: !!js/function x', rules).join(), /^1:4 Unresolved tag/);
      assert.match(problemsOf('a: 1\na: 2', rules).join(), /^2:1 has the key "a" twice \(first on line 1\)/);
      assert.match(problemsOf('a: .nan', rules).join(), /^1:4 has a value of a type/);
    }
  });

  test('an alias without an anchor, also one inside its own anchor, is a problem', () => {
    for (const text of ['a: *x', 'a: &x [*x]', 'a: *x\nb: &x 1']) {
      assert.match(problemsOf(text, OWN).join(), /^1:\d+ uses an alias .* without its anchor/, text);
    }
  });

  test('a file that multiplies itself costs nothing', () => {
    const levels = Array.from({ length: 200 }, (_, at) => `a${at}: &a${at} [${`*a${at - 1}, `.repeat(at && 9)}x]`);
    assert.match(problemsOf(levels.join('\n'), OWN)[0] ?? '', /uses too many aliases/);
    const many = `a: &a {x: 1}\n${Array.from({ length: 1_000 }, (_, at) => `b${at}: *a`).join('\n')}`;
    assert.equal(Object.keys(readValue(many, OWN) as object).length, 1_001);
  });

  test('nesting ends in a problem, however deep it is', () => {
    assert.match(problemsOf('['.repeat(70) + ']'.repeat(70), OWN).join(), /more than 64 levels/);
    assert.match(problemsOf('['.repeat(50_000), OWN).join(), /nested too deeply/);
  });

  test('syntax problems are sentences that say what to do', () => {
    const rows: readonly (readonly [string, RegExp])[] = [
      ['a:\n  b: 1\n c: 2\n', /^3:1 the line is indented by another number of spaces/],
      ['a: [1\nb: 2\n', /^2:1 a \[ or \{ is not closed/],
      ['[a', /^1:3 a \[ or \{ is not closed/],
      ['a: "x\n', /^2:1 a quote is not closed/],
      ['a: 1\nb\n', /^2:1 a name has no ":" after it/],
      ['a: b: c\n', /^1:4 a line has two names/],
      ['a: @x\n', /^1:4 a value starts with a character that YAML reserves/],
      [`${'k'.repeat(1100)}: x`, /^1:1 a name is longer than/],
    ];
    for (const [text, words] of rows) assert.match(problemsOf(text, OWN)[0] ?? '', words);
  });

  test('no problem quotes a value', () => {
    for (const text of [
      'a: 1\n}hunter2',
      'a: "x" hunter2',
      'a: "\\hunter2"',
      'a: !hunter2 x',
      'hunter2: [',
      '@hunter2',
      '%hunter2',
      '%hunter2\n---\na: 1',
    ]) {
      const { problems } = readYaml(text, OWN);
      assert.ok(problems.length > 0, text);
      assert.doesNotMatch(JSON.stringify(problems), /hunter2/, text);
    }
  });

  test('reads JSON as JSON does', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), (text) => {
        const { root, problems } = readYaml(text, FOREIGN);
        if (problems.length > 0) return;
        // Written by JSON, because it has no -0.
        const read = JSON.stringify(root === null ? null : plainValue(root));
        assert.deepEqual(JSON.parse(read), JSON.parse(JSON.stringify(JSON.parse(text))));
      }),
      { numRuns: 100 },
    );
  });
});
