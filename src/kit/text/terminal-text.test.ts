import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { terminalSafe, wrapText } from './terminal-text.ts';

test('escapes DEL and C1 controls, and nothing else, so that JSON keeps its values', () => {
  const text = Array.from({ length: 0x2_000 }, (_, code) => String.fromCharCode(code)).join('');
  const json = JSON.stringify({ text });
  assert.deepEqual(JSON.parse(terminalSafe(json)), { text });
  assert.doesNotMatch(terminalSafe(json), /\p{Cc}/u);
  assert.equal(terminalSafe('a\u009b2Jb\u007fä'), 'a\\u009b2Jb\\u007fä');
});

suite('wrapText', () => {
  test('fills each line up to the width', () => {
    assert.deepEqual(wrapText('one two three', 7), ['one two', 'three']);
    assert.deepEqual(wrapText('one two three', 6), ['one', 'two', 'three']);
  });

  test('gives a word that is too long a line of its own', () => {
    assert.deepEqual(wrapText('a incomprehensible b', 5), ['a', 'incomprehensible', 'b']);
  });

  test('loses no word and keeps every line of several words within the width', () => {
    const words = fc.array(fc.stringMatching(/^[a-z]{1,12}$/), { minLength: 1 });
    fc.assert(
      fc.property(words, fc.integer({ min: 1, max: 40 }), (given, width) => {
        const lines = wrapText(given.join(' '), width);
        assert.equal(lines.join(' '), given.join(' '));
        for (const line of lines) assert(!line.includes(' ') || line.length <= width, line);
      }),
    );
  });
});
