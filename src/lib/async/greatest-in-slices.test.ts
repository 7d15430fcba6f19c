import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { greatestInSlices } from './greatest-in-slices.ts';
import { SliceLane } from './slice-lane.ts';

/** As in the code. */
const ITEMS_PER_TURN = 4_000;

interface Item {
  readonly at: number;
  readonly rank: number;
}

const itemsWith = (length: number, rankAt: (at: number) => number): Item[] =>
  Array.from({ length }, (_, at) => ({ at, rank: rankAt(at) }));
const rankOf = ({ rank }: Item): number => rank;

suite('the greatest of many, in slices', () => {
  test('are those that a full sort lists first, in its order', async () => {
    for (let round = 0; round < 200; round += 1) {
      const length = Math.floor(Math.random() * 200);
      const ranks = 1 + Math.floor(Math.random() * 100);
      const limit = 1 + Math.floor(Math.random() * 50);
      const items = itemsWith(length, () => Math.floor(Math.random() * ranks));
      const expected = items.toSorted((one, other) => other.rank - one.rank).slice(0, limit);
      assert.deepEqual(
        await greatestInSlices(new SliceLane(), items, limit, rankOf),
        expected,
        JSON.stringify({ limit, items }),
      );
    }
  });

  for (const [order, rankAt] of [
    ['ascending', (at: number) => at],
    ['descending', (at: number) => -at],
    ['equal', () => 0],
  ] as const) {
    test(`are found among ${order} ranks`, async () => {
      const items = itemsWith(1_000, rankAt);
      const expected = items.toSorted((one, other) => other.rank - one.rank).slice(0, 10);
      assert.deepEqual(await greatestInSlices(new SliceLane(), items, 10, rankOf), expected);
    });
  }

  test('are found in many turns of the event loop, each with a bounded number of items', async () => {
    let [isRunning, turn] = [true, 0];
    const nextTurn = (): void => {
      turn += 1;
      if (isRunning) setImmediate(nextTurn);
    };
    setImmediate(nextTurn);
    const seen = new Map<number, number>();
    function* counted(): Generator<number | null> {
      for (let at = 0; at < 5 * ITEMS_PER_TURN; at += 1) {
        seen.set(turn, (seen.get(turn) ?? 0) + 1);
        yield at % 3 === 0 ? at : null;
      }
    }
    const found = await greatestInSlices(new SliceLane(), counted(), 2, (at) => at);
    isRunning = false;
    assert.deepEqual([...seen.values()], Array(5).fill(ITEMS_PER_TURN));
    assert.deepEqual(found, [19_998, 19_995]);
  });
});
