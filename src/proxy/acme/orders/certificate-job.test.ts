import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backOffMs } from './certificate-job.ts';

test('waits 1, 5, 15 minutes, 1, 6, 24 hours, then 24 hours each time', () => {
  const minutes = [1, 2, 3, 4, 5, 6, 7, 100].map((attempts) => backOffMs(attempts, () => 0.5) / 60_000);
  assert.deepEqual(minutes, [1, 5, 15, 60, 360, 1440, 1440, 1440]);
});

test('spreads each wait by a fifth in both directions', () => {
  assert.equal(
    backOffMs(1, () => 0),
    48_000,
  );
  assert.equal(
    backOffMs(1, () => 1),
    72_000,
  );
});
