/** Long work shares the event loop with traffic: it continues in a later turn after this time. */
const SLICE_MS = 5;

/** How much of the event loop long work may take. */
export interface SliceBudget {
  readonly sliceMs: number;
  nowMs(): number;
  /** Yields to everything else. */
  pause(): Promise<void>;
}

/**
 * Tasks that take turns: in each turn of the event loop, one of them runs for a slice. Queues do not wait for each
 * other, so unrelated work has its own.
 */
export class SliceQueue implements SliceBudget {
  readonly sliceMs = SLICE_MS;
  readonly #waiting: (() => void)[] = [];

  nowMs(): number {
    return performance.now();
  }

  /** Resolves in a later turn, in which no other task of the queue runs. */
  pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(this.#resumeOne);
    });
  }

  readonly #resumeOne = (): void => {
    const resume = this.#waiting.shift();
    if (this.#waiting.length > 0) setImmediate(this.#resumeOne);
    resume?.();
  };
}

/** Measures how long the current turn has worked, and hands the event loop over. */
export class TimeSlice {
  readonly #budget: SliceBudget;
  #endsAtMs: number;

  constructor(budget: SliceBudget) {
    this.#budget = budget;
    this.#endsAtMs = budget.nowMs() + budget.sliceMs;
  }

  get isOver(): boolean {
    return this.#budget.nowMs() >= this.#endsAtMs;
  }

  /** Resolves in a later turn, with a new slice. */
  async next(): Promise<void> {
    await this.#budget.pause();
    this.#endsAtMs = this.#budget.nowMs() + this.#budget.sliceMs;
  }
}

/** `items.map(convert)`, which yields to the event loop if it takes long. */
export async function mapInSlices<Item, Result>(
  queue: SliceQueue,
  items: readonly Item[],
  convert: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  const slice = new TimeSlice(queue);
  for (const item of items) {
    results.push(convert(item));
    if (slice.isOver) await slice.next();
  }
  return results;
}

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
  queue: SliceQueue,
  items: Iterable<Item | null>,
  limit: number,
  rankOf: (item: Item) => number,
): Promise<Item[]> {
  const slice = new TimeSlice(queue);
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
