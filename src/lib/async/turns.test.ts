import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Turns } from './turns.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('runs so many tasks at once, and the others in their order, also after one that fails', async () => {
  const turns = new Turns(2, 2);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const run = (number: number): Promise<void> =>
    turns.run(async () => {
      begun.push(number);
      await new Promise<void>((resolve) => ends.push(resolve));
      if (number === 1) throw new Error('fails');
    });
  const failing = assert.rejects(run(1), /fails/);
  const second = run(2);
  assert.equal(turns.isFull, false);
  const third = run(3);
  assert.equal(turns.isFull, false);
  const fourth = run(4);
  assert.equal(turns.isFull, true);
  await turn();
  assert.deepEqual(begun, [1, 2]);
  ends[0]?.();
  await failing;
  assert.deepEqual(begun, [1, 2, 3]);
  assert.equal(turns.isFull, false);
  for (const number of [1, 2, 3]) {
    ends[number]?.();
    await turn();
  }
  await Promise.all([second, third, fourth]);
  assert.deepEqual(begun, [1, 2, 3, 4]);
});

test('none may wait where none is said to, and any number otherwise', async () => {
  const [alone, open] = [new Turns(1, 0), new Turns(1)];
  const { promise, resolve } = Promise.withResolvers<void>();
  assert.equal(alone.isFull, false);
  const running = [alone.run(() => promise), open.run(() => promise), open.run(() => promise)];
  assert.deepEqual([alone.isFull, open.isFull], [true, false]);
  resolve();
  await Promise.all(running);
  assert.equal(alone.isFull, false);
});
