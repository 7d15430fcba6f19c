import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createDenseIds, KSUID_PATTERN } from './ksuid.ts';

suite('ids of requests', () => {
  test('are unique KSUIDs that sort in order of creation', () => {
    const next = createDenseIds('rq');
    const ids: string[] = [];
    for (let ms = 0; ms < 50; ms += 1) for (let i = 0; i < 5000; i += 1) ids.push(next(1_800_000_000_000 + ms));
    // A clock that moves backwards starts another millisecond and does not repeat ids.
    for (let i = 0; i < 100; i += 1) ids.push(next(1_800_000_000_000 + (i % 2)));
    assert.equal(new Set(ids).size, ids.length);
    assert(ids.every((id) => new RegExp(`^rq_${KSUID_PATTERN}$`).test(id)));
    assert.deepEqual(ids, ids.toSorted());
  });
});
