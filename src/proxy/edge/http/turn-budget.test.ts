import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TurnBudget } from './turn-budget.ts';

const VISITOR = '192.0.2.1';
const OTHER = '192.0.2.2';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('runs tasks immediately, to be rejected, when too many wait', async () => {
  const budget = new TurnBudget();
  let count = 0;
  while (!budget.isFullFor(undefined)) {
    if (!budget.take(undefined)) budget.later(() => {}, undefined);
    count += 1;
    assert.ok(count < 100_000);
  }
  assert.equal(budget.take(VISITOR), true);
  await nextTurn();
  assert.equal(budget.isFullFor(VISITOR), false);
  assert.equal(budget.take(undefined), false);
  while (!budget.take(undefined)) await nextTurn();
});

test('leaves half of the places to others, however many tasks one visitor has', async () => {
  const budget = new TurnBudget();
  let [own, done] = [0, 0];
  const arrive = (address: string): boolean => {
    if (budget.isFullFor(address)) return false;
    if (!budget.take(address)) budget.later(() => (done += Number(!budget.isFullFor(address))), address);
    return true;
  };
  for (let at = 0; at < 20_000; at += 1) own += Number(arrive(VISITOR));
  assert.ok(own >= 5_000 && own <= 5_050, `${own}`);
  assert.ok(arrive(OTHER), 'another visitor waits for a turn');
  assert.equal(arrive(VISITOR), false);
  while (done < 5_001) await nextTurn();
  assert.ok(arrive(VISITOR));
});

test('serves another visitor in the next turn, however many tasks one has waiting', async () => {
  const budget = new TurnBudget();
  const order: string[] = [];
  while (budget.take(VISITOR)) order.push('now');
  for (let at = 0; at < 5_000; at += 1) budget.later(() => order.push('own'), VISITOR);
  for (const name of ['first', 'second']) budget.later(() => order.push(name), OTHER);
  budget.later(() => order.push('proxied'), undefined);
  await nextTurn();
  assert.deepEqual(order.slice(50, 56), ['own', 'first', 'proxied', 'own', 'second', 'own']);
  assert.ok(order.length <= 100);
});

test('spreads a burst over turns, in order, and gives every turn a new budget', async () => {
  const budget = new TurnBudget();
  const done: number[] = [];
  const run = (at: number): void => {
    const task = (): unknown => done.push(at);
    if (budget.take(VISITOR)) task();
    else budget.later(task, VISITOR);
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
  while (!budget.isFullFor(undefined)) budget.later(() => {}, undefined);
  let [left, depth, deepest] = [3000, 0, 0];
  const serve = (): void => {
    depth += 1;
    deepest = Math.max(deepest, depth);
    left -= 1;
    if (left > 0) budget.run(serve, VISITOR);
    depth -= 1;
  };
  budget.run(serve, VISITOR);
  while (left > 0) await nextTurn();
  assert.ok(deepest <= 100, `${deepest} requests are nested`);
});
