import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { SharedBudget } from './admission.ts';

/** A budget with its holders, as the edge keeps them. */
function open(max: number, sharePercent: number): { budget: SharedBudget; enter: (...addresses: string[]) => void } {
  const held: string[] = [];
  const budget = new SharedBudget({ max, sharePercent, holders: () => held });
  const enter = (...addresses: string[]): void => {
    for (const address of addresses) {
      held.push(address);
      budget.enter(address);
    }
  };
  return { budget, enter };
}

suite('a budget that clients share', () => {
  test('counts holders from before it was scarce', () => {
    const { budget, enter } = open(1000, 10);
    enter(...Array.from({ length: 499 }, () => '192.0.2.1'));
    assert.ok(!budget.isScarce);
    enter('192.0.2.2');
    assert.ok(budget.isScarce);
    assert.ok(budget.isShareUsed('192.0.2.1'));
    assert.ok(!budget.isShareUsed('192.0.2.2'));
    enter(...Array.from({ length: 99 }, () => '192.0.2.2'));
    assert.ok(budget.isShareUsed('192.0.2.2'), '10 percent of 1000');
  });

  test('frees returned places, and starts again with a recount', () => {
    const held = new Map<number, string>();
    const budget = new SharedBudget({ max: 400, sharePercent: 1, holders: () => held.values() });
    for (let round = 0; round < 3; round += 1) {
      for (let at = 0; at < 200; at += 1) {
        held.set(at, at < 100 ? '2001:db8::1' : '2001:db8::2');
        budget.enter(held.get(at) ?? '');
      }
      assert.ok(budget.isShareUsed('2001:db8::3'), 'all of one network');
      for (let at = 0; at < 140; at += 1) {
        budget.leave(held.get(at) ?? '');
        held.delete(at);
      }
      assert.ok(!budget.isShareUsed('2001:db8::3'), '60 of at least 64');
      for (let at = 140; at < 200; at += 1) {
        budget.leave(held.get(at) ?? '');
        held.delete(at);
      }
      assert.equal(budget.held, 0);
    }
  });

  test('has no shares when it has no limit, or when one address may hold all', () => {
    for (const [max, percent] of [
      [0, 6],
      [10, 100],
    ] as const) {
      const { budget, enter } = open(max, percent);
      enter(...Array.from({ length: 10 }, () => '192.0.2.1'));
      assert.deepEqual([budget.isScarce, budget.isShareUsed('192.0.2.1')], [false, false]);
      assert.equal(budget.isUsed(1), max > 0);
    }
  });
});
