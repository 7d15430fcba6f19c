import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { wantedRange } from './range-header.ts';

test('a range lies in the body, whatever the header says', () => {
  const number = fc.oneof(fc.nat(20), fc.nat(), fc.constant(''));
  fc.assert(
    fc.property(number, number, fc.nat(20), (first, last, size) => {
      const wanted = wantedRange(`bytes=${first}-${last}`, size);
      if (typeof wanted === 'string') return;
      assert.ok(wanted.start >= 0 && wanted.start <= wanted.end && wanted.end < size);
    }),
  );
});

test('reads a long header in linear time', () => {
  const header = `bytes=${' '.repeat(100_000)}x`;
  const startedAtMs = performance.now();
  assert.equal(wantedRange(header, 10), 'whole');
  assert.ok(performance.now() - startedAtMs < 100);
});
