import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exceededLimit } from './json-shape.ts';

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
