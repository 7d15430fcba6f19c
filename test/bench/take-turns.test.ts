import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takeTurns } from '../../bench/support/take-turns.ts';

test('contenders of a bench take turns in one order, and warm-up rounds do not count', async () => {
  const order: string[] = [];
  const round = (name: string): Promise<number> => Promise.resolve(order.push(name));
  const { samples } = await takeTurns(['one', 'two', 'three'], round, { rounds: 2, warmUp: 1 });
  assert.deepEqual(order, ['one', 'two', 'three', 'one', 'two', 'three', 'one', 'two', 'three']);
  assert.deepEqual(
    [...samples],
    [
      ['one', [4, 7]],
      ['two', [5, 8]],
      ['three', [6, 9]],
    ],
  );
});

test('a bench knows how long a contender was idle before its round', async (t) => {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const tookMs: Readonly<Record<string, number>> = { postern: 300, frp: 2700, localtunnel: 5900 };
  const round = (name: string): Promise<void> => {
    nowMs += tookMs[name] ?? 0;
    return Promise.resolve();
  };
  const { longestWaitMs } = await takeTurns(Object.keys(tookMs), round, { rounds: 3, warmUp: 1 });
  assert.equal(longestWaitMs, 8600);
});
