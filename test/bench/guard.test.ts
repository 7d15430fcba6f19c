import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isMarked, tableLine } from '../../bench/guard/row.ts';
import { type Compared, interleaved, ratioOf } from '../../bench/support/interleaved.ts';

const PAIRS = 4;
const ROUNDS = 10;
const RUNS = 2000;

suite('the guard of costs', () => {
  test('two processes of the same program that differ by some percent are not marked', () => {
    assert.ok(shareMarked(1) < 0.01);
  });

  test('a row that costs an eighth more is marked, a row that costs 4 % more is not', () => {
    assert.ok(shareMarked(1.125) > 0.9);
    assert.ok(shareMarked(1.02) < 0.1);
  });

  test('a row with a large ratio is not marked when the pairs contradict each other', () => {
    const pairs = [0.7, 1.3, 0.8, 1.35].map((ratio) => ({
      base: [100, 100, 100],
      other: [ratio, ratio, ratio].map((each) => each * 100),
    }));
    assert.ok(ratioOf(pairs).median > 1.05);
    assert.equal(isMarked(ratioOf(pairs)), false);
  });

  test('the line says which row costs more', () => {
    const dearer = { name: 'HTTP/2', unit: 'µs', pairs: [{ base: [10, 10], other: [12, 12] }] } as const;
    assert.match(tableLine(dearer), /^HTTP\/2 +10\.0 µs +12\.0 µs +1\.200 × +0\.000 +<< COSTS MORE$/);
    const same = { ...dearer, pairs: [{ base: [10, 10], other: [10, 10] }] };
    assert.doesNotMatch(tableLine(same), /COSTS MORE/);
  });

  test('sides take turns in swapped order, and warm-up rounds do not count', async () => {
    const order: string[] = [];
    const side = (name: string) => ({ round: () => Promise.resolve(order.push(name)) });
    const costs = await interleaved(side('base'), side('other'), { rounds: 2, warmUp: 1 });
    assert.deepEqual(order, ['base', 'other', 'other', 'base', 'base', 'other']);
    assert.deepEqual(costs, { base: [4, 5], other: [3, 6] });
  });
});

/**
 * The share of marked runs when the other side costs `factor` times as much, processes differ by 2 % and rounds by 6 %.
 */
function shareMarked(factor: number): number {
  const next = normalNumbers();
  const rounds = Array.from({ length: ROUNDS });
  const pair = (): Compared => {
    const ofPair = factor * (1 + 0.02 * next());
    const cost = () => 100 * (1 + 0.06 * next());
    return { base: rounds.map(cost), other: rounds.map(() => cost() * ofPair) };
  };
  const runs = Array.from({ length: RUNS }, () => ratioOf(Array.from({ length: PAIRS }, pair)));
  return runs.filter(isMarked).length / RUNS;
}

/** The same ones in every run: the sum of twelve uniform numbers is nearly normal. */
function normalNumbers(): () => number {
  let state = 29;
  const uniform = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return () => Array.from({ length: 12 }, uniform).reduce((sum, each) => sum + each, -6);
}
