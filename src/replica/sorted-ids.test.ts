import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { SortedIds } from './sorted-ids.ts';

const step = fc.record({
  do: fc.constantFrom('add', 'add', 'add', 'remove', 'page'),
  /** Many at once, so that chunks split and become empty. */
  from: fc.nat({ max: 6_000 }),
  count: fc.nat({ max: 3_000 }),
  stride: fc.constantFrom(1, 7, -1),
});

suite('sorted ids', () => {
  test('agree with a sorted list after any additions and removals', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 8, size: 'max' }), (steps) => {
        const ids = new SortedIds();
        const model = new Set<string>();
        for (const { do: what, from, count, stride } of steps) {
          for (let at = 0; at < count && what !== 'page'; at += 1) {
            const id = idOf(Math.abs(from + at * stride));
            if (what === 'add') model.add(id);
            else model.delete(id);
            if (what === 'add') ids.add(id);
            else ids.remove(id);
          }
          const sorted = [...model].toSorted().reverse();
          const before = idOf(from);
          assert.equal(ids.size, model.size);
          assert.deepEqual(ids.descending(null, count), sorted.slice(0, count));
          assert.deepEqual(ids.descending(before, 100), sorted.filter((id) => id < before).slice(0, 100));
        }
      }),
      { numRuns: 30 },
    );
  });
});

function idOf(number: number): string {
  return `tn_${String(number).padStart(6, '0')}`;
}
