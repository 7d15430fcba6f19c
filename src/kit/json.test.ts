import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DoubledNameError, exceededLimit, parseExactJson, parseUniqueJson } from './json.ts';

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

const LIMITS = { maxValues: 10, maxDepth: 3 };
const limitOf = (text: string) => exceededLimit(Buffer.from(text), LIMITS);

test('counts values and depth outside of texts', () => {
  assert.equal(limitOf('{"a":[1,2,3],"b":{"c":null}}'), null);
  assert.equal(limitOf(`[${Array(9).fill('1').join(',')}]`), null);
  assert.equal(limitOf(`[${Array(11).fill('1').join(',')}]`), 'maxValues');
  assert.equal(limitOf(`{${Array(11).fill('"a":1').join(',')}}`), 'maxValues');
  assert.equal(limitOf('[[[[1]]]]'), 'maxDepth');
  assert.equal(limitOf('[[[1]],[[1]]]'), null);
  assert.equal(limitOf(`{"a":"${'[{,'.repeat(100)}","b":"\\"[[[[,,,,,,,,,,,"}`), null);
});

test('ends at the end of a text that is cut off', () => {
  for (const text of ['', '"', '"\\', '"a', '[', '{"a', ']]]]']) assert.equal(limitOf(text), null);
});

test('refuses a name that an object has twice, in any spelling and at any place', () => {
  const doubled: Readonly<Record<string, string>> = {
    '{"a":1,"a":1}': 'a',
    '{"a":1,"b":{},"a":{}}': 'a',
    '{"a":1,"\\u0061":2}': 'a',
    '[[{"x":[{"b":1 , "c":2,"b" :3}]}]]': 'b',
    '{"":1,"":2}': '',
    '{"a:":1,"q\\"{:":[],"a:":{}}': 'a:',
    '{"1":0,"1":0}': '1',
  };
  for (const [text, name] of Object.entries(doubled)) {
    assert.throws(() => parseUniqueJson(text), new DoubledNameError(name), text);
  }
  const unique = ['{}', '[]', '1', '":"', '{"a":{"a":{"a":[{"a":1},{"a":2}]}}}', '{"\\\\":1,"x\\"":2,":":":"}'];
  for (const text of unique) assert.deepEqual(parseUniqueJson(text), JSON.parse(text), text);
  assert.deepEqual(Object.keys(parseUniqueJson('{"__proto__":1,"constructor":2}') as object), [
    '__proto__',
    'constructor',
  ]);
});

test('looks for doubled names in linear time, at any depth', () => {
  const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
  const wide = `{${Array.from({ length: 60_000 }, (_, at) => `"k${at}":1`).join(',')}}`;
  const escaped = `["${'\\\\'.repeat(400_000)}"]`;
  for (const text of [deep, wide, escaped]) {
    const parsed = (parse: (text: string) => unknown): number => {
      const startedMs = performance.now();
      parse(text);
      return performance.now() - startedMs;
    };
    assert.ok(parsed(parseUniqueJson) < 10 * parsed(JSON.parse) + 200, text.slice(0, 20));
  }
});
