export interface Rank {
  readonly epoch: number;
  readonly sessionId: string;
  readonly id: string;
}

/** Keys that only one may have. The highest epoch has it; the others wait for their turn. */
export class Owners<Item extends Rank> {
  readonly #owners = new Map<string, Item>();
  /** Only for keys with a conflict. */
  readonly #waiting = new Map<string, Set<Item>>();

  get(key: string): Item | undefined {
    return this.#owners.get(key);
  }

  keys(): Iterable<string> {
    return this.#owners.keys();
  }

  values(): Iterable<Item> {
    return this.#owners.values();
  }

  get size(): number {
    return this.#owners.size;
  }

  /** Adds it, or ranks it once more after its epoch changed. Returns the item that has to wait, if there is a conflict. */
  add(key: string, item: Item): Item | null {
    const owner = this.#owners.get(key);
    const waiting = this.#waiting.get(key);
    if (owner === undefined || (owner === item && waiting === undefined)) {
      this.#owners.set(key, item);
      return null;
    }
    const others = waiting ?? new Set<Item>();
    others.delete(item);
    if (owner === item) {
      const best = bestOf(others);
      if (best === undefined || isBefore(item, best)) return null;
      others.delete(best);
      others.add(item);
      this.#owners.set(key, best);
      return item;
    }
    this.#waiting.set(key, others);
    const isBetter = isBefore(item, owner);
    others.add(isBetter ? owner : item);
    if (isBetter) this.#owners.set(key, item);
    return isBetter ? owner : item;
  }

  /** Returns the item that has it now, if that one waited. */
  remove(key: string, item: Item): Item | null {
    const waiting = this.#waiting.get(key);
    if (this.#owners.get(key) !== item) {
      waiting?.delete(item);
      if (waiting?.size === 0) this.#waiting.delete(key);
      return null;
    }
    const next = waiting === undefined ? undefined : bestOf(waiting);
    if (next === undefined || waiting === undefined) {
      this.#owners.delete(key);
      return null;
    }
    waiting.delete(next);
    if (waiting.size === 0) this.#waiting.delete(key);
    this.#owners.set(key, next);
    return next;
  }
}

/** Ties have the same outcome on every node. */
function isBefore(a: Rank, b: Rank): boolean {
  if (a.epoch !== b.epoch) return a.epoch > b.epoch;
  return a.sessionId === b.sessionId ? a.id < b.id : a.sessionId < b.sessionId;
}

function bestOf<Item extends Rank>(items: ReadonlySet<Item>): Item | undefined {
  let best: Item | undefined;
  for (const item of items) if (best === undefined || isBefore(item, best)) best = item;
  return best;
}
