import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TurnBudget } from './turn-budget.ts';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('runs tasks immediately, to be rejected, when too many wait', async () => {
  const budget = new TurnBudget();
  let count = 0;
  while (!budget.isFull) {
    if (!budget.take()) budget.later(() => {});
    count += 1;
    assert.ok(count < 100_000);
  }
  assert.equal(budget.take(), true);
  await nextTurn();
  assert.equal(budget.isFull, false);
  assert.equal(budget.take(), false);
  while (!budget.take()) await nextTurn();
});

test('spreads a burst over turns, in order, and gives every turn a new budget', async () => {
  const budget = new TurnBudget();
  const done: number[] = [];
  const run = (at: number): void => {
    const task = (): unknown => done.push(at);
    if (budget.take()) task();
    else budget.later(task);
  };
  for (let at = 0; at < 120; at += 1) run(at);
  const first = done.length;
  assert.ok(first < 120);
  await nextTurn();
  assert.ok(done.length > first && done.length <= 2 * first);
  // Arrives while others wait: it queues behind them.
  run(120);
  while (done.length < 121) await nextTurn();
  assert.deepEqual(
    done,
    Array.from({ length: 121 }, (_, at) => at),
  );
  await nextTurn();
  run(121);
  assert.equal(done.at(-1), 121);
});

test('does not nest the pipelined requests of a connection, however many wait', async () => {
  const budget = new TurnBudget();
  while (!budget.isFull) budget.later(() => {});
  let [left, depth, deepest] = [3000, 0, 0];
  const serve = (): void => {
    depth += 1;
    deepest = Math.max(deepest, depth);
    left -= 1;
    if (left > 0) budget.run(serve);
    depth -= 1;
  };
  budget.run(serve);
  while (left > 0) await nextTurn();
  assert.ok(deepest <= 100, `${deepest} requests are nested`);
});
