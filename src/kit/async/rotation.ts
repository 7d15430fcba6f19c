interface Line<Item> {
  readonly owner: string | undefined;
  readonly items: Item[];
}

/**
 * Items that wait, taken from one owner after the other: a new item waits for one item of each owner, however
 * many one of them has. Each item without an owner counts as one, so without owners they leave in order of arrival.
 */
export class Rotation<Item> {
  /** The first line has the next turn. None is empty. */
  readonly #lines: Line<Item>[] = [];
  readonly #byOwner = new Map<string, Line<Item>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(item: Item, owner: string | undefined): void {
    this.#size += 1;
    const line = owner === undefined ? undefined : this.#byOwner.get(owner);
    if (line !== undefined) {
      line.items.push(item);
      return;
    }
    const added = { owner, items: [item] };
    this.#lines.push(added);
    if (owner !== undefined) this.#byOwner.set(owner, added);
  }

  /** The next item, of another owner than `lastOwner` if one waits. */
  take(lastOwner?: string): Item | undefined {
    let line = this.#lines.shift();
    if (lastOwner !== undefined && line?.owner === lastOwner && this.#lines.length > 0) {
      this.#lines.push(line);
      line = this.#lines.shift();
    }
    if (line === undefined) return undefined;
    const item = line.items.shift();
    this.#size -= 1;
    if (line.items.length > 0) this.#lines.push(line);
    else if (line.owner !== undefined) this.#byOwner.delete(line.owner);
    return item;
  }
}
