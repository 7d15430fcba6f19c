import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SendPace } from './lane-run.ts';

function clocked() {
  let nowMs = 1_000;
  const pace = new SendPace(() => nowMs);
  return {
    pace,
    /** Enqueues this many events, spread evenly over the time. */
    enqueue: (count: number, ms: number): void => {
      for (let at = 0; at < count; at += 1) {
        nowMs += ms / count;
        pace.enqueued();
      }
    },
    pass: (ms: number): void => {
      nowMs += ms;
    },
  };
}

test('does not delay sends while little is enqueued', () => {
  const { pace, enqueue } = clocked();
  enqueue(2_000, 10_000);
  assert.deepEqual([pace.takeSlot(), pace.takeSlot(), pace.isBurst], [0, 0, false]);
});

test('spaces sends during a burst, and stops when it is over', () => {
  const { pace, enqueue, pass } = clocked();
  enqueue(1_000, 1_000);
  assert.equal(pace.isBurst, true);
  assert.deepEqual([pace.takeSlot(), pace.takeSlot(), pace.takeSlot()], [0, 10, 20]);
  pass(25);
  assert.equal(pace.takeSlot(), 5);
  pass(300);
  assert.deepEqual([pace.takeSlot(), pace.takeSlot(), pace.isBurst], [0, 0, false]);
});

test('does not treat endless load as a burst, and allows another burst after a rest', () => {
  const { pace, enqueue, pass } = clocked();
  enqueue(29_000, 29_000);
  assert.equal(pace.isBurst, true);
  enqueue(10_000, 10_000);
  assert.equal(pace.isBurst, false);
  pass(1_000);
  enqueue(100, 100);
  assert.equal(pace.isBurst, true);
});

test('ends a turn when its signal aborts', async () => {
  const { pace, enqueue } = clocked();
  enqueue(1_000, 1_000);
  for (let at = 0; at < 100_000; at += 1) pace.takeSlot();
  const abort = new AbortController();
  const turn = pace.turn(abort.signal);
  abort.abort();
  await turn;
});
