import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { yamlText } from './yaml-text.ts';

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
