import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Watchdog } from './worker-thread.ts';

/** Looks until the worker is lost. `delayMs`: how long it waits for a CPU between two of them. */
function looksUntilLost(delayMs: number): number {
  const watchdog = new Watchdog();
  const worker = {};
  assert.equal(watchdog.look(worker, 1_000), 'first');
  for (let looks = 1; looks < 100; looks += 1) {
    if (watchdog.look(worker, 1_000 + looks * delayMs) === 'lost') return looks;
  }
  return Number.POSITIVE_INFINITY;
}

test('a worker that does not answer is lost after two seconds', () => {
  assert.equal(looksUntilLost(0), 4);
  assert.equal(looksUntilLost(5), 5, 'some delay is usual');
});

test('a worker that gets no CPU is not lost for what it waits, and is after ten seconds', () => {
  assert.equal(looksUntilLost(250), 8, 'half of the time');
  assert.equal(looksUntilLost(500), 20);
  assert.equal(looksUntilLost(3_000), 20, 'the thread that looks is late as well');
});

test('an answer ends the silence', () => {
  const watchdog = new Watchdog();
  const worker = {};
  for (let times = 0; times < 3; times += 1) {
    assert.deepEqual(
      Array.from({ length: 4 }, () => watchdog.look(worker, 0)),
      ['first', 'waiting', 'waiting', 'waiting'],
    );
    watchdog.answered(worker);
  }
});
