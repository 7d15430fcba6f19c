import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isHostOrBelow } from './host-below.ts';

for (const [host, isBelow] of [
  ['id.example.com', true],
  ['a.id.example.com', true],
  ['b.a.id.example.com', true],
  ['*.id.example.com', true],
  ['*.example.com', false],
  ['example.com', false],
  ['xid.example.com', false],
  ['id.example.com.evil.example', false],
] as const) {
  test(`${host} is ${isBelow ? '' : 'not '}id.example.com or below it`, () =>
    assert.equal(isHostOrBelow(host, 'id.example.com'), isBelow));
}
