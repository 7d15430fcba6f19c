import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { DeadlineTicker, TICK_MS } from './deadline-ticker.ts';

test('runs one timer, only while it has members', () => {
  mock.timers.enable({ apis: ['setInterval'] });
  try {
    const ticker = new DeadlineTicker();
    let ticks = 0;
    const counting = {
      tickPosition: -1,
      contain: raise,
      onTick: () => {
        ticks += 1;
      },
    };
    ticker.add(counting);
    mock.timers.tick(TICK_MS * 3);
    assert.equal(ticks, 3);
    ticker.delete(counting);
    mock.timers.tick(TICK_MS * 3);
    assert.equal(ticks, 3);
    ticker.add(counting);
    mock.timers.tick(TICK_MS);
    assert.equal(ticks, 4, 'the timer from before still runs');
  } finally {
    mock.timers.reset();
  }
});

test('a member that leaves during a tick neither skips nor repeats others', () => {
  mock.timers.enable({ apis: ['setInterval'] });
  try {
    const ticker = new DeadlineTicker();
    const turns: string[] = [];
    const leaving = new Set(['b', 'd']);
    const all = ['a', 'b', 'c', 'd'].map((name) => ({
      tickPosition: -1,
      contain: raise,
      onTick(): void {
        turns.push(name);
        if (leaving.has(name)) ticker.delete(this);
      },
    }));
    for (const each of all) ticker.add(each);
    mock.timers.tick(TICK_MS);
    assert.deepEqual(turns.toSorted(), ['a', 'b', 'c', 'd']);
    mock.timers.tick(TICK_MS);
    assert.deepEqual(turns.slice(4).toSorted(), ['a', 'c']);
    assert.equal(ticker.size, 2);
  } finally {
    mock.timers.reset();
  }
});

function raise(error: unknown): never {
  throw error;
}
