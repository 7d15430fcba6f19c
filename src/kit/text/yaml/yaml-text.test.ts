import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parse } from 'yaml';
import { yamlText } from './yaml-text.ts';

const hostileTexts = fc.constantFrom(
  ...['', ' ', 'a: b', '- a', '*a', '&a', '!a', '#a', 'a #b', 'yes', 'NO', '~', 'null', '1e3', '0x1f', '012', '1_000'],
  ...[
    '.inf',
    '.0',
    '.5e3',
    'e4',
    '.',
    '..',
    '/',
    '/*',
    '*.example.com',
    'a\nb\n',
    'a\n\nb',
    'a \nb\n',
    '\ta',
    '{a}',
    '[a]',
    "it's",
    '"',
    '\\',
  ],
  ...[
    '2026-11-01',
    '12:30:45',
    '\u2028',
    '\u0000',
    '\ufeff',
    '__proto__',
    '=',
    '<<',
    '? a',
    '| a',
    '%a',
    '@a',
    '`a',
    'é',
  ],
);
const texts = fc.oneof(hostileTexts, fc.string(), fc.string({ unit: 'binary', maxLength: 8 }));
const scalars = fc.oneof(
  texts,
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
);
const values = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, scalars, fc.array(tie('value'), { maxLength: 4 }), tie('object')),
  object: fc.dictionary(texts, tie('value'), { maxKeys: 5 }),
}));

test('what is written reads back as it was', () => {
  fc.assert(
    fc.property(values.object, (object) => {
      const plain = { first: 1, ...JSON.parse(JSON.stringify(object)) };
      const read = JSON.stringify(parse(yamlText(plain), { mapAsMap: false }));
      assert.deepEqual(JSON.parse(read), JSON.parse(JSON.stringify(plain)));
    }),
    { numRuns: 150 },
  );
});

test('writes a long key and a text of several lines', () => {
  const object = { ['/a'.repeat(1000)]: { pem: '-----BEGIN X-----\nabc\n-----END X-----\n' } };
  const text = yamlText(object);
  assert.deepEqual(parse(text), object);
  assert.match(text, /pem: \|\n/);
});
test('escapes every character that a terminal could obey, and loses none', () => {
  const value = {
    'key\u009b31m': 'a\u001b[2Jb',
    csi: '\u009b2J',
    bidi: 'user\u202egnp.exe',
    tag: '\u{e0041}',
    lines: 'one\ntwo\n',
    del: '\u007f',
    nothing: null,
    list: [{ deep: 'x\u2028y' }],
  };
  const text = yamlText(value);
  assert.doesNotMatch(text, /(?!\n)[\p{Cc}\p{Cf}\u2028\u2029]/u);
  assert.deepEqual(parse(text), value);
});

test('folds no line and makes no anchor', () => {
  const shared = { text: 'word '.repeat(60).trim() };
  const text = yamlText({ first: shared, second: shared });
  assert.equal(text.split('\n').length, 5, text);
  assert.doesNotMatch(text, /[&*]/);
});
