/** Reproducible random numbers (mulberry32), so that a failing run can be repeated by its seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to, not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  between(least: number, most: number): number {
    return least + this.next() * (most - least);
  }

  isChosen(probability: number): boolean {
    return this.next() < probability;
  }

  /** undefined for an empty list. */
  pick<Item>(items: readonly Item[]): Item | undefined {
    return items[this.below(items.length)];
  }

  some<Item>(items: readonly Item[], most: number): Item[] {
    const left = [...items];
    const count = Math.min(left.length, 1 + this.below(most));
    return Array.from({ length: count }, () => left.splice(this.below(left.length), 1)[0] as Item);
  }

  /** For a list that is not empty. */
  one<Item>(items: readonly Item[]): Item {
    if (items.length === 0) throw new Error('nothing to pick from');
    return items[this.below(items.length)] as Item;
  }

  shuffled<Item>(items: readonly Item[]): readonly Item[] {
    return items
      .map((item) => ({ item, key: this.next() }))
      .toSorted((a, b) => a.key - b.key)
      .map(({ item }) => item);
  }

  text(length: number): string {
    let text = '';
    while (text.length < length) text += Math.floor(this.next() * 2 ** 31).toString(36);
    return text.slice(0, length);
  }
}
