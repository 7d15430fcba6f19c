import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSameSecret } from './secrets.ts';

test('only the same text is the same secret, also with other lengths and beyond ASCII', () => {
  for (const text of ['', 'secret', 'sécret', '秘密', '\u{1F511}']) assert.ok(isSameSecret(text, text));
  // The last two are equal when only the low byte of a character counts.
  for (const [given, known] of [
    ['', 'a'],
    ['secre', 'secret'],
    ['secreT', 'secret'],
    ['é', 'e\u0301'],
    ['\u0141', 'A'],
    ['ı', '1'],
  ] as const)
    assert.ok(!isSameSecret(given, known), given);
});
