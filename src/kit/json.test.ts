import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExactJson } from './json.ts';

test('numbers that a double cannot tell apart become their text', () => {
  const text = '{"id":9007199254740993,"ids":[-9007199254740993,12345678901234567890],"deep":{"x":9007199254740992}}';
  assert.deepEqual(parseExactJson(text), {
    id: '9007199254740993',
    ids: ['-9007199254740993', '12345678901234567890'],
    deep: { x: '9007199254740992' },
  });
});

test('everything else is as JSON.parse returns it', () => {
  for (const text of [
    '{"a":9007199254740991,"b":[1.5,-2e3,true,null,"9007199254740993"]}',
    '7',
    '"1234567890123456"',
  ]) {
    assert.deepEqual(parseExactJson(text), JSON.parse(text));
  }
  const { a } = parseExactJson('{"a":{"__proto__":{"x":9007199254740993}}}') as { a: object };
  assert.deepEqual([Object.keys(a), Object.getPrototypeOf(a)], [['__proto__'], Object.prototype]);
  assert.throws(() => parseExactJson('{'), SyntaxError);
});
