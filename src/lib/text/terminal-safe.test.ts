import assert from 'node:assert/strict';
import { test } from 'node:test';
import { terminalSafe } from './terminal-safe.ts';

test('escapes DEL and C1 controls, and nothing else, so that JSON keeps its values', () => {
  const text = Array.from({ length: 0x2_000 }, (_, code) => String.fromCharCode(code)).join('');
  const json = JSON.stringify({ text });
  assert.deepEqual(JSON.parse(terminalSafe(json)), { text });
  assert.doesNotMatch(terminalSafe(json), /\p{Cc}/u);
  assert.equal(terminalSafe('a\u009b2Jb\u007fä'), 'a\\u009b2Jb\\u007fä');
});
