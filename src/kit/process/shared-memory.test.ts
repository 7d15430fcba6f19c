import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedTally } from './shared-memory.ts';

test('counts what all threads hold, in total and by key, until one of them ends', () => {
  const memory = SharedTally.memory(2);
  const [one, two] = [new SharedTally(memory, 0), new SharedTally(memory, 1)];
  one.enter('a');
  one.enter('a');
  two.enter('a');
  two.enter('b');
  for (const tally of [one, two]) assert.deepEqual([tally.total, tally.of('a'), tally.of('b')], [4, 3, 1]);
  two.leave('b');
  assert.deepEqual([one.total, one.of('b')], [3, 0]);
  SharedTally.clear(memory, 0);
  assert.deepEqual([two.total, two.of('a')], [1, 1]);
});

test('keeps 10,000 addresses apart', () => {
  const tally = new SharedTally(SharedTally.memory(1), 0);
  for (let at = 0; at < 10_000; at += 1) tally.enter(`10.0.${at >> 8}.${at & 255}`);
  assert.equal(tally.total, 10_000);
  let most = 0;
  for (let at = 0; at < 100; at += 1) most = Math.max(most, tally.of(`192.0.2.${at}`));
  assert(most < 10, `an address without any seems to have ${most}`);
});

test('a mark of one thread is seen by all, for a while', () => {
  const memory = SharedTally.memory(2);
  const [one, two] = [new SharedTally(memory, 0), new SharedTally(memory, 1)];
  assert(!two.wasMarkedWithin(60_000));
  one.mark();
  assert(two.wasMarkedWithin(60_000));
  assert(!two.wasMarkedWithin(0));
});
