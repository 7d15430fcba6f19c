import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { DescriptorBudget, type DescriptorUse, descriptorLimit, openDescriptors } from './descriptor-budget.ts';

/** A budget of 160 descriptors: 16 are reserved, and 16 more for agents and upstreams. */
function budgetOf(limit = 160) {
  const world = {
    nowMs: 0,
    open: 100,
    counts: 0,
    countTakesMs: 0,
    refused: [] as DescriptorUse[],
    changes: [] as boolean[],
  };
  const budget = new DescriptorBudget({
    limit,
    count: () => {
      world.counts += 1;
      world.nowMs += world.countTakesMs;
      return world.open;
    },
    nowMs: () => world.nowMs,
    onRefused: (use) => world.refused.push(use),
    onChange: (isScarce) => world.changes.push(isScarce),
  });
  world.nowMs += 1_000;
  return { world, budget };
}

const admitted = (budget: DescriptorBudget, use: DescriptorUse, tries: number): number =>
  Array.from({ length: tries }, () => budget.admits(use)).filter(Boolean).length;

suite('budget of file descriptors', () => {
  test('keeps a reserve that a burst between two counts cannot use', () => {
    const { world, budget } = budgetOf();
    assert.equal(admitted(budget, 'visitor', 8), 8);
    world.open = 108;
    // From the next count on, these are only estimated.
    assert.equal(admitted(budget, 'visitor', 50), 20);
    assert.equal(world.counts, 2);
    world.open = 128;
    assert.equal(admitted(budget, 'visitor', 50), 0);
    assert.equal(admitted(budget, 'agent', 8), 8);
    assert.equal(admitted(budget, 'upstream', 50), 8);
    assert.equal(admitted(budget, 'agent', 1), 0);
    assert.deepEqual(new Set(world.refused), new Set(['visitor', 'upstream', 'agent']));
  });

  test('sees descriptors that were opened for other uses', () => {
    const { world, budget } = budgetOf();
    world.open = 127;
    assert.equal(admitted(budget, 'visitor', 50), 9, 'half a reserve, and one more');
  });

  test('admits again as soon as others have closed', () => {
    const { world, budget } = budgetOf();
    assert.equal(admitted(budget, 'visitor', 28), 28);
    world.open = 60;
    world.nowMs += 20;
    assert.equal(admitted(budget, 'visitor', 100), 68);
  });

  test('knows how many are free as soon as others have closed', () => {
    const { world, budget } = budgetOf();
    assert.equal(budget.free('visitor'), 28);
    world.open = 60;
    world.nowMs += 20;
    assert.deepEqual([budget.free('visitor'), budget.free('upstream')], [68, 84]);
    const { counts } = world;
    for (let call = 0; call < 1_000; call += 1) budget.free('visitor');
    assert.equal(world.counts, counts, 'few descriptors are open, so no share depends on the count');
  });

  test('changes once per shortage, however often it refuses', () => {
    const { world, budget } = budgetOf();
    world.open = 130;
    budget.check();
    assert.deepEqual(world.changes, [true], 'before the first refusal');
    admitted(budget, 'visitor', 100);
    for (let second = 0; second < 30; second += 1) {
      world.nowMs += 1_000;
      world.open = second % 2 === 0 ? 100 : 128;
      budget.check();
    }
    assert.deepEqual(world.changes, [true]);
    world.open = 100;
    for (let second = 0; second < 12; second += 1) {
      world.nowMs += 1_000;
      budget.check();
    }
    assert.deepEqual(world.changes, [true, false]);
    assert.equal(budget.isScarce, false);
  });

  test('spends little time on counting, even where that is slow', () => {
    const { world, budget } = budgetOf();
    world.open = 160;
    world.countTakesMs = 50;
    const before = world.counts;
    for (let step = 0; step < 10_000; step += 1) {
      world.nowMs += 1;
      budget.admits('visitor');
    }
    assert.ok(world.counts - before <= 11, `${world.counts - before}`);
  });

  test('takes a count that fails for lack of descriptors as the limit', () => {
    const { world, budget } = budgetOf();
    world.open = Number.POSITIVE_INFINITY;
    budget.check();
    assert.deepEqual([budget.open, budget.isScarce], [160, true]);
  });

  test('admits everything where the limit is not known', () => {
    const { world, budget } = budgetOf(Number.POSITIVE_INFINITY);
    budget.check();
    assert.equal(admitted(budget, 'visitor', 1_000), 1_000);
    assert.equal(world.counts, 0, 'there is nothing to count on systems without /proc');
    assert.deepEqual(world.changes, []);
  });

  test('knows the limit and the count of this process', { skip: process.platform !== 'linux' }, () => {
    assert.ok(descriptorLimit() >= openDescriptors());
    assert.ok(openDescriptors() > 3);
  });
});
