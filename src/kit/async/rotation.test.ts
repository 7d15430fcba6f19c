import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Rotation } from './rotation.ts';

function allOf(waiting: Rotation<string>): string[] {
  const taken: string[] = [];
  while (waiting.size > 0) taken.push(waiting.take() ?? 'none');
  return taken;
}

test('takes one item of each owner in turn, and those of one owner in their order', () => {
  const waiting = new Rotation<string>();
  for (const item of ['a1', 'a2', 'a3']) waiting.add(item, 'a');
  waiting.add('b1', 'b');
  assert.equal(waiting.take(), 'a1');
  waiting.add('c1', 'c');
  waiting.add('b2', 'b');
  assert.deepEqual(allOf(waiting), ['b1', 'a2', 'c1', 'b2', 'a3']);
  assert.equal(waiting.take(), undefined);
  waiting.add('a4', 'a');
  assert.deepEqual(allOf(waiting), ['a4']);
});

test('each item without an owner has a turn of its own, in order of arrival', () => {
  const waiting = new Rotation<string>();
  for (const item of ['1', '2']) waiting.add(item, undefined);
  for (const item of ['a1', 'a2']) waiting.add(item, 'a');
  waiting.add('3', undefined);
  assert.deepEqual(allOf(waiting), ['1', '2', 'a1', '3', 'a2']);
});

test('passes over the owner that had the last turn, if another waits', () => {
  const waiting = new Rotation<string>();
  for (const item of ['a1', 'a2']) waiting.add(item, 'a');
  waiting.add('b1', 'b');
  assert.equal(waiting.take('a'), 'b1');
  assert.equal(waiting.take('a'), 'a1');
  assert.equal(waiting.take('b'), 'a2');
});
