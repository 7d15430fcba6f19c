import { type SliceLane, TimeSlice } from './slice-lane.ts';

/** `items.map(convert)`, which yields to the event loop if it takes long. */
export async function mapInSlices<Item, Result>(
  lane: SliceLane,
  items: readonly Item[],
  convert: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  const slice = new TimeSlice(lane);
  for (const item of items) {
    results.push(convert(item));
    if (slice.isOver) await slice.next();
  }
  return results;
}
