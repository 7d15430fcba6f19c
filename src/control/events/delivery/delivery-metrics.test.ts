import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { LaneLedger } from '../../../store/store.ts';
import { KnownLanes } from './delivery-metrics.ts';

suite('known lanes', () => {
  test('scrapes at the same time share one read', async () => {
    let reads = 0;
    const lanes = new KnownLanes(async () => {
      reads += 1;
      return [];
    });
    await Promise.all([lanes.current(), lanes.current(), lanes.current()]);
    assert.equal(reads, 1);
    await lanes.current();
    assert.equal(reads, 2);
  });

  test('a silent store is waited for once, and its late answer is used by the next scrape', async () => {
    const before = [{} as LaneLedger];
    const after = [{} as LaneLedger, {} as LaneLedger];
    const pending: ((lanes: readonly LaneLedger[]) => void)[] = [];
    const lanes = new KnownLanes(() => new Promise((settle) => pending.push(settle)), 20);
    const first = lanes.current();
    pending.shift()?.(before);
    assert.equal(await first, before);
    assert.equal(await lanes.current(), before);
    assert.equal(await lanes.current(), before);
    assert.equal(pending.length, 1, 'one read at a time');
    pending.shift()?.(after);
    await new Promise(setImmediate);
    const next = lanes.current();
    pending.shift()?.(after);
    assert.equal(await next, after);
  });

  test('a failed read leaves what was known', async () => {
    let isDown = false;
    const known = [{} as LaneLedger];
    const lanes = new KnownLanes(() => (isDown ? Promise.reject(new Error('away')) : Promise.resolve(known)));
    assert.equal(await lanes.current(), known);
    isDown = true;
    assert.equal(await lanes.current(), known);
    assert.equal(await lanes.current(), known);
  });
});
