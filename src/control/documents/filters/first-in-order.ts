import type { TimeSlice } from '../../../kit/async/slices.ts';
import type { JsonObject, JsonValue } from '../../../kit/json.ts';

/** More than a page has: beyond it, only the first ones in the order are kept. */
const KEPT_PER_PAGE = 4;
/** So many are sorted at once, in about a millisecond, and merged one by one: a whole list took 140 ms in one turn. */
const SORTED_AT_ONCE = 128;

interface Placed {
  readonly item: JsonObject;
  /** Equal ones stay in the order of the list. */
  readonly place: number;
  readonly value: string | number;
}

type Slice = Pick<TimeSlice, 'isOver' | 'next'>;

/** Keeps the first items in the order of a field: every item of the list may match. */
export class FirstInOrder {
  readonly #field: string;
  readonly #sign: 1 | -1;
  readonly #wanted: number;
  readonly #figures: ReadonlyMap<string, number> | null;
  #kept: Placed[] = [];
  #count = 0;

  /** `figures`: what orders the items by their ids, if it is no field of theirs. */
  constructor(orderBy: string, wanted: number, figures: ReadonlyMap<string, number> | null) {
    this.#field = orderBy.replace(/^-/, '');
    this.#sign = orderBy.startsWith('-') ? -1 : 1;
    this.#wanted = wanted;
    this.#figures = figures;
  }

  get count(): number {
    return this.#count;
  }

  add(item: JsonObject): void {
    const value =
      this.#figures === null ? orderedBy(item[this.#field]) : (this.#figures.get(item['id'] as string) ?? 0);
    this.#kept.push({ item, place: this.#count, value });
    this.#count += 1;
  }

  /** Drops those that cannot be among the first, once there are many. */
  async tidy(slice: Slice): Promise<void> {
    if (this.#kept.length >= this.#wanted * KEPT_PER_PAGE) await this.#sort(slice);
  }

  async all(slice: Slice): Promise<readonly JsonObject[]> {
    await this.#sort(slice);
    return this.#kept.map(({ item }) => item);
  }

  async #sort(slice: Slice): Promise<void> {
    const sorted = await sortedInSlices(this.#kept, (one, other) => this.#compare(one, other), slice);
    if (sorted.length > this.#wanted) sorted.length = this.#wanted;
    this.#kept = sorted;
  }

  #compare(one: Placed, other: Placed): number {
    const order = compared(one.value, other.value) * this.#sign;
    return order === 0 ? one.place - other.place : order;
  }
}

/** Merges short sorted runs, as long as the slice lasts in each turn. */
async function sortedInSlices<Item>(
  items: readonly Item[],
  compare: (one: Item, other: Item) => number,
  slice: Slice,
): Promise<Item[]> {
  let runs: Item[][] = [];
  for (let from = 0; from < items.length; from += SORTED_AT_ONCE) {
    if (slice.isOver) await slice.next();
    runs.push(items.slice(from, from + SORTED_AT_ONCE).sort(compare));
  }
  while (runs.length > 1) {
    const longer: Item[][] = [];
    for (let at = 0; at < runs.length; at += 2)
      longer.push(await merged(runs[at] ?? [], runs[at + 1] ?? [], compare, slice));
    runs = longer;
  }
  return runs[0] ?? [];
}

async function merged<Item>(
  one: Item[],
  other: readonly Item[],
  compare: (one: Item, other: Item) => number,
  slice: Slice,
): Promise<Item[]> {
  if (other.length === 0) return one;
  const all: Item[] = [];
  for (let a = 0, b = 0; a < one.length || b < other.length; ) {
    const [left, right] = [one[a], other[b]];
    if (right === undefined || (left !== undefined && compare(left, right) <= 0)) {
      all.push(left as Item);
      a += 1;
    } else {
      all.push(right);
      b += 1;
    }
    if (all.length % SORTED_AT_ONCE === 0 && slice.isOver) await slice.next();
  }
  return all;
}

const COLLATOR = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

function compared(one: string | number, other: string | number): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return COLLATOR.compare(String(one), String(other));
}

/** A list by its first value, a reference by its id. */
function orderedBy(value: JsonValue | undefined): string | number {
  if (typeof value === 'number' || typeof value === 'string') return value;
  if (Array.isArray(value)) return orderedBy(value[0]);
  if (typeof value === 'object' && value !== null) return orderedBy((value as JsonObject)['id']);
  return value === true ? 1 : value === false ? 0 : '';
}
