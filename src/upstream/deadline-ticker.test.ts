import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { DeadlineTicker, TICK_MS } from './deadline-ticker.ts';

test('one timer, only while somebody is on it', () => {
  mock.timers.enable({ apis: ['setInterval'] });
  try {
    const ticker = new DeadlineTicker();
    let ticks = 0;
    const counting = {
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
