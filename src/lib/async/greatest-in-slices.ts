import { type SliceLane, TimeSlice } from './slice-lane.ts';

/** About a millisecond with figures of tunnels, at most five measured: below what traffic notices. */
const ITEMS_PER_TURN = 4_000;

interface Ranked<Item> {
  readonly item: Item;
  readonly rank: number;
}

/**
 * The items with the highest rank, highest first, as a stable sort of all would list them. Yields to the event loop
 * after a number of items, so a source gives null for one that it skips. It may change meanwhile, as a Map may.
 */
export async function greatestInSlices<Item>(
  lane: SliceLane,
  items: Iterable<Item | null>,
  limit: number,
  rankOf: (item: Item) => number,
): Promise<Item[]> {
  const slice = new TimeSlice(lane);
  let best: Ranked<Item>[] = [];
  let threshold = Number.NEGATIVE_INFINITY;
  let count = 0;
  for (const item of items) {
    const rank = item === null ? threshold : rankOf(item);
    // An equal rank loses to the earlier item.
    if (item !== null && rank > threshold) best.push({ item, rank });
    // Sorting a few at a time costs less than a heap, and never more than 2 × limit at once.
    if (best.length === 2 * limit) {
      best = cut(best, limit);
      threshold = best.at(-1)?.rank ?? threshold;
    }
    count += 1;
    if (count % ITEMS_PER_TURN === 0) await slice.next();
  }
  return cut(best, limit).map(({ item }) => item);
}

function cut<Item>(ranked: Ranked<Item>[], limit: number): Ranked<Item>[] {
  return ranked.sort((one, other) => other.rank - one.rank).slice(0, limit);
}
