import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { greatestInSlices, SliceQueue, TimeSlice } from './slices.ts';

/** Work without end, in slices; the count of its slices. */
function endless(queue: SliceQueue): { slices: number; isEnded: boolean } {
  const work = { slices: 0, isEnded: false };
  const run = async (): Promise<void> => {
    const slice = new TimeSlice(queue);
    while (!work.isEnded) {
      work.slices += 1;
      await slice.next();
    }
  };
  void run();
  return work;
}

suite('queues of sliced work', () => {
  test('a queue with many tasks does not hold up another queue', async () => {
    const busy = new SliceQueue();
    const many = Array.from({ length: 50 }, () => endless(busy));
    const other = endless(new SliceQueue());
    for (let at = 0; at < 100; at += 1) await turn();
    const slices = many.map((task) => task.slices);
    for (const task of [...many, other]) task.isEnded = true;
    assert.ok(other.slices >= 95, `${other.slices} slices in 100 turns`);
    assert.ok(Math.min(...slices) >= 2, `each of the others went on: ${slices.join()}`);
  });

  test('one task of a queue runs per turn, in order', async () => {
    const queue = new SliceQueue();
    const order: string[] = [];
    const task = async (name: string): Promise<void> => {
      for (let at = 0; at < 3; at += 1) {
        await queue.pause();
        order.push(name);
      }
    };
    const tasks = ['a', 'b', 'c'].map(task);
    const perTurn: number[] = [];
    for (let seen = 0; order.length < 9; seen = order.length) {
      await turn();
      perTurn.push(order.length - seen);
    }
    await Promise.all(tasks);
    assert.deepEqual(order, ['a', 'b', 'c', 'a', 'b', 'c', 'a', 'b', 'c']);
    assert.ok(Math.max(...perTurn) <= 1, `slices per turn: ${perTurn.join()}`);
  });

  test('a slice is over after its time, and the next one begins when it runs', async () => {
    let nowMs = 0;
    const budget = { sliceMs: 5, nowMs: () => nowMs, pause: () => Promise.resolve() };
    const slice = new TimeSlice(budget);
    nowMs = 4;
    assert.equal(slice.isOver, false);
    nowMs = 5;
    assert.equal(slice.isOver, true);
    nowMs = 100;
    await slice.next();
    assert.equal(slice.isOver, false);
  });
});

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
        await greatestInSlices(new SliceQueue(), items, limit, rankOf),
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
      assert.deepEqual(await greatestInSlices(new SliceQueue(), items, 10, rankOf), expected);
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
    const found = await greatestInSlices(new SliceQueue(), counted(), 2, (at) => at);
    isRunning = false;
    assert.deepEqual([...seen.values()], Array(5).fill(ITEMS_PER_TURN));
    assert.deepEqual(found, [19_998, 19_995]);
  });
});
