import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rfc3339 } from './clock.ts';

test('times are written as the runtime writes them', () => {
  const second = 1_800_000_000_000;
  const inOneSecond = [0, 1, 9, 10, 99, 100, 999, 0.2, 998.9, 999.999].map((ms) => second + ms);
  const elsewhere = [0, 1, 999, 1_000, 253_402_300_799_999, 253_402_300_800_000, 8.64e15, -1, -1_000.5, -0.5];
  for (const ms of [...inOneSecond, ...elsewhere, ...inOneSecond.toReversed()])
    assert.equal(rfc3339(ms), new Date(ms).toISOString(), String(ms));
});

test('what is no time is rejected, and the next time is written', () => {
  for (const ms of [Number.NaN, 8.64e15 + 1, Number.POSITIVE_INFINITY])
    assert.throws(() => rfc3339(ms), RangeError, String(ms));
  assert.equal(rfc3339(1_000), '1970-01-01T00:00:01.000Z');
});
