/** How high the rows of a long list are. Rows that were not shown yet count as high as the others are on average. */
export class RowHeights {
  readonly #known = new Map<string, number>();
  readonly #usual: number;
  #sum = 0;
  #width = 0;

  constructor(usual: number) {
    this.#usual = usual;
  }

  /** The distance of each row from the top of the list, and at last the height of the list. */
  tops(keys: readonly string[]): Float64Array {
    const estimate = this.#known.size === 0 ? this.#usual : this.#sum / this.#known.size;
    const tops = new Float64Array(keys.length + 1);
    for (const [index, key] of keys.entries())
      tops[index + 1] = (tops[index] ?? 0) + (this.#known.get(key) ?? estimate);
    return tops;
  }

  /** True: a row is not as high as it was. In another width, all rows may have other heights. */
  measure(width: number, rows: readonly (readonly [key: string, height: number])[]): boolean {
    if (width !== this.#width) {
      this.#known.clear();
      this.#sum = 0;
      this.#width = width;
    }
    let isNew = false;
    for (const [key, height] of rows) {
      const before = this.#known.get(key);
      if (before !== undefined && Math.abs(before - height) < 0.5) continue;
      this.#known.set(key, height);
      this.#sum += height - (before ?? 0);
      isNew = true;
    }
    return isNew;
  }
}

/** The row at this distance from the top. */
export function rowAt(tops: Float64Array, distance: number): number {
  let low = 0;
  let high = tops.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((tops[middle] ?? 0) <= distance) low = middle;
    else high = middle - 1;
  }
  return low;
}
