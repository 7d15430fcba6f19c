import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Standstill } from './standstill.ts';

const LONG_MS = 1_001;

function watched() {
  const readings: PromiseWithResolvers<void>[] = [];
  const standstill = new Standstill(() => {
    const reading = Promise.withResolvers<void>();
    readings.push(reading);
    return reading.promise;
  });
  return { standstill, readings };
}

suite('a thread that stood still', () => {
  test('is behind until it has caught up', async () => {
    const { standstill, readings } = watched();
    const nowMs = performance.now();
    assert.equal(standstill.look(nowMs), null);
    assert.equal(standstill.look(nowMs + 900), null, 'a long turn');
    const behind = standstill.look(nowMs + 900 + LONG_MS);
    assert.equal(standstill.look(nowMs + 900 + LONG_MS), behind, 'all wait for the same reading');
    readings[0]?.resolve();
    assert.equal(await behind, true);
    assert.equal(standstill.look(nowMs + 900 + LONG_MS), null);
    assert.equal(readings.length, 1);
  });

  test('reads again if it stood still meanwhile: an answer may be older', async () => {
    const { standstill, readings } = watched();
    const nowMs = performance.now();
    const first = standstill.look(nowMs + LONG_MS);
    const second = standstill.look(nowMs + 2 * LONG_MS);
    readings[0]?.resolve();
    assert.equal(await first, true);
    assert.equal(standstill.look(nowMs + 2 * LONG_MS), second, 'those who waited look again');
    readings[1]?.resolve();
    assert.equal(await second, true);
    assert.equal(standstill.look(nowMs + 2 * LONG_MS), null);
  });

  test('gives up when nobody can say what was changed, and for those who come later other rules decide', async () => {
    const { standstill, readings } = watched();
    const nowMs = performance.now();
    const behind = standstill.look(nowMs + LONG_MS);
    readings[0]?.reject(new Error('no database'));
    assert.equal(await behind, false);
    assert.equal(standstill.look(nowMs + LONG_MS), null);
  });

  test('notices the time for which its machine was suspended, which the monotonic clock does not count', (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 });
    const { standstill } = watched();
    const nowMs = performance.now();
    t.mock.timers.setTime(1_000_000 + LONG_MS);
    assert.notEqual(standstill.look(nowMs), null);
  });
});
