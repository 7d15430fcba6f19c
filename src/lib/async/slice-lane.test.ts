import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { SliceLane, TimeSlice } from './slice-lane.ts';

/** Work without end, in slices; the count of its slices. */
function endless(lane: SliceLane): { slices: number; isEnded: boolean } {
  const work = { slices: 0, isEnded: false };
  const run = async (): Promise<void> => {
    const slice = new TimeSlice(lane);
    while (!work.isEnded) {
      work.slices += 1;
      await slice.next();
    }
  };
  void run();
  return work;
}

suite('lanes of sliced work', () => {
  test('a lane with many tasks does not hold up another lane', async () => {
    const busy = new SliceLane();
    const many = Array.from({ length: 50 }, () => endless(busy));
    const other = endless(new SliceLane());
    for (let at = 0; at < 100; at += 1) await turn();
    const slices = many.map((task) => task.slices);
    for (const task of [...many, other]) task.isEnded = true;
    assert.ok(other.slices >= 95, `${other.slices} slices in 100 turns`);
    assert.ok(Math.min(...slices) >= 2, `each of the others went on: ${slices.join()}`);
  });

  test('one task of a lane runs per turn, in order', async () => {
    const lane = new SliceLane();
    const order: string[] = [];
    const task = async (name: string): Promise<void> => {
      for (let at = 0; at < 3; at += 1) {
        await lane.pause();
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
