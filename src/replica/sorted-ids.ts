/**
 * Ids in ascending byte order. New ids are almost always the greatest (they are time-sortable), so adding is an append;
 * removing one moves the rest of the array, which is a memmove.
 */
export class SortedIds {
  readonly #ids: string[] = [];

  get size(): number {
    return this.#ids.length;
  }

  add(id: string): void {
    const last = this.#ids.at(-1);
    if (last === undefined || last < id) {
      this.#ids.push(id);
      return;
    }
    const at = this.#firstNotBelow(id);
    if (this.#ids[at] !== id) this.#ids.splice(at, 0, id);
  }

  remove(id: string): void {
    const at = this.#firstNotBelow(id);
    if (this.#ids[at] === id) this.#ids.splice(at, 1);
  }

  /** At most `limit` ids below `beforeId`, greatest first. */
  descending(beforeId: string | null, limit: number): string[] {
    const end = beforeId === null ? this.#ids.length : this.#firstNotBelow(beforeId);
    return this.#ids.slice(Math.max(0, end - limit), end).reverse();
  }

  #firstNotBelow(id: string): number {
    let low = 0;
    let high = this.#ids.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#ids[middle] as string) < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
