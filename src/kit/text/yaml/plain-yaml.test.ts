import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { readPlainYaml } from './plain-yaml.ts';
import { readWithLibrary } from './read-yaml.ts';

const PLAIN = [
  ...['a', 'b', 'name', '/', '/x', 'app.example.com', 'x:443', '127.0.0.1:80', '10.0.0.0/8', '90s', '"q"', '""'],
  ...['"a: b"', '"a, b"', '"a # b"', '0', '1', '-5', 'true', 'false', './data', 'x-*', '127.0.0.1:1-99'],
];
const VALUES = [...PLAIN, 'two words', '{}', '[]', '{a: b}', '{a: 1, "b": x:1}', '[a, "b", 1]', '{ a: b }', '[ ]'];
/** Texts that mean something else, or are not valid. */
const ODD = [
  ...[
    "'s'",
    '"\\n"',
    '[a, [b]]',
    '{a: {b: c}}',
    '{a}',
    '[a: b]',
    '{a:b}',
    '[a,b]',
    '{a: , b: c}',
    '[,]',
    '[a,]',
    '[a b]',
  ],
  ...['007', '1.5', '1e5', '0x1f', '0o7', 'False', 'null', 'Null', '~', '.inf', 'yes', 'nan', '1_000', '12:30:45', 'ü'],
  ...['./', '.5', '../x', '*', '-*', 'a**', '1:2-3'],
  ...[
    '|',
    '>',
    '&a',
    '*a',
    '!t',
    '<<',
    '-',
    '- a',
    '? a',
    ': a',
    'a:',
    'a: b',
    '#c',
    '@x',
    '`x',
    '%x',
    '---',
    '...',
    'x ',
  ],
];
const COMMENTS = ['', '', '', '', ' # c', '#c', '  #', ' ', '\t', '\n', '\n  # c', '\n# c'];

/** Mostly plain texts: about one in two has something odd. */
function textFrom(draw: (below: number) => number): string {
  const of = (list: readonly string[]): string => list[draw(list.length)] ?? '';
  const oddly = (list: readonly string[]): string => (draw(25) === 0 ? of(ODD) : of(list));
  const end = (): string => `${draw(4) === 0 ? of(COMMENTS) : ''}\n`;
  const map = (indent: number): string => {
    let text = '';
    for (let left = 1 + draw(3); left > 0; left -= 1) {
      const odd = draw(40) === 0 ? draw(3) - 1 : 0;
      text += `${' '.repeat(Math.max(0, indent + odd))}${oddly(PLAIN)}:`;
      const what = draw(8);
      const inner = indent + 1 + draw(3);
      if (what < 4) text += ` ${oddly(VALUES)}${end()}`;
      else if (what === 4) text += end();
      else if (what === 5) {
        const at = ' '.repeat(indent + draw(3));
        text += `${end()}${Array.from({ length: 1 + draw(2) }, () => `${at}- ${oddly(VALUES)}${end()}`).join('')}`;
      } else text += `${end()}${indent < 8 ? map(inner) : ''}`;
    }
    return text;
  };
  return map(0);
}

const texts = fc.infiniteStream(fc.nat()).map((numbers) => textFrom((below) => (numbers.next().value ?? 0) % below));

suite('plain YAML', () => {
  test('is read as the library reads it, with the same lines, or left to it', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const read = readPlainYaml(text);
        fc.pre(read !== null);
        assert.deepEqual({ root: read, problems: [] }, readWithLibrary(text, { hasAliases: false }), text);
      }),
      { numRuns: 500, maxSkipsPerRun: 1_000 },
    );
  });

  test('is read as the library reads it when one character of it is another', () => {
    const whole = `# c
version: 1
owner: "bench"
https_edges:
  app-0.example.com:
    hostports: [a.example.com:443, "b"]
    routes:
      /:
        compression: {}
        backend: {backend: backend-0} # c

      /x:
        ip_restriction:
          ip_policies:
            - a
            - "b c"
        oidc:
  "*.example.com":
    description: two words
    enabled: true
backends:
  backend-0: {kind: static, address: "127.0.0.1:3000"}
  cidr: 10.0.0.0/8
`;
    assert.notEqual(readPlainYaml(whole), null);
    const others = '\n :#,-"\'[]{}&*!|>%@`?0e.\\~\t\r';
    // All of them take ten seconds.
    const [step, from] = process.env['POSTERN_TEST_LONG'] ? [1, 0] : [13, Math.floor(Math.random() * 13)];
    for (let at = from; at < whole.length; at += step) {
      for (const other of others) {
        for (const text of [
          whole.slice(0, at) + other + whole.slice(at + 1),
          whole.slice(0, at) + other + whole.slice(at),
        ]) {
          const read = readPlainYaml(text);
          if (read === null) continue;
          assert.deepEqual({ root: read, problems: [] }, readWithLibrary(text, { hasAliases: false }), text);
        }
      }
    }
  });

  test('covers what a configuration file of many edges has', () => {
    const edge = (at: number) =>
      `  app-${at}.example.com:\n    routes:\n      /:\n        backend: {backend: b-${at}}\n`;
    const text = `version: 1\nhttps_edges:\n${Array.from({ length: 100 }, (_, at) => edge(at)).join('')}`;
    const root = readPlainYaml(text);
    const edges = root?.entries.get('https_edges')?.node;
    assert.equal(edges?.type === 'map' && edges.entries.size, 100);
  });
});
