export interface Rank {
  readonly epoch: number;
  readonly sessionId: string;
  readonly id: string;
}

/**
 * Keys that only one item may have; the other items wait for their turn. The item with the highest epoch has the key.
 * If the store can decide, the first item has the key until the store names another session.
 */
export class Owners<Item extends Rank> {
  readonly #keepsIncumbent: boolean;
  readonly #owners = new Map<string, Item>();
  /** Only for keys with a conflict. */
  readonly #waiting = new Map<string, Set<Item>>();
  /** Sessions that the store named, for keys with a conflict. */
  readonly #decided = new Map<string, string>();

  constructor(keepsIncumbent = false) {
    this.#keepsIncumbent = keepsIncumbent;
  }

  get(key: string): Item | undefined {
    return this.#owners.get(key);
  }

  /** Gives the key to an item of the session `sessionId`, if there is such an item. */
  decide(key: string, sessionId: string): void {
    if (!this.#waiting.has(key)) return;
    this.#decided.set(key, sessionId);
    const owner = this.#owners.get(key);
    if (owner !== undefined) this.add(key, owner);
  }

  /** Adds the item, or ranks it again after its epoch changed. In a conflict, returns the item that has to wait. */
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
      const best = this.#bestOf(key, others);
      if (best === undefined || !this.#isBetter(key, best, item)) return null;
      others.delete(best);
      others.add(item);
      this.#owners.set(key, best);
      return item;
    }
    this.#waiting.set(key, others);
    const isBetter = this.#isBetter(key, item, owner);
    others.add(isBetter ? owner : item);
    if (isBetter) this.#owners.set(key, item);
    return isBetter ? owner : item;
  }

  /** Removes the item. Returns the item that waited for the key and has the key now, if there is one. */
  remove(key: string, item: Item): Item | null {
    const waiting = this.#waiting.get(key);
    if (this.#owners.get(key) !== item) {
      waiting?.delete(item);
      if (waiting?.size === 0) this.#settled(key);
      return null;
    }
    const next = waiting === undefined ? undefined : this.#bestOf(key, waiting);
    if (next === undefined || waiting === undefined) {
      this.#owners.delete(key);
      return null;
    }
    waiting.delete(next);
    if (waiting.size === 0) this.#settled(key);
    this.#owners.set(key, next);
    return next;
  }

  #settled(key: string): void {
    this.#waiting.delete(key);
    this.#decided.delete(key);
  }

  #isBetter(key: string, item: Item, owner: Item): boolean {
    const decided = this.#decided.get(key);
    const isDecided = item.sessionId === decided;
    if (isDecided !== (owner.sessionId === decided)) return isDecided;
    return !this.#keepsIncumbent && isBefore(item, owner);
  }

  #bestOf(key: string, items: ReadonlySet<Item>): Item | undefined {
    const decided = this.#decided.get(key);
    let best: Item | undefined;
    for (const item of items) {
      if (item.sessionId === decided) return item;
      if (best === undefined || isBefore(item, best)) best = item;
    }
    return best;
  }
}

/** Ties have the same outcome on every node. */
function isBefore(a: Rank, b: Rank): boolean {
  if (a.epoch !== b.epoch) return a.epoch > b.epoch;
  return a.sessionId === b.sessionId ? a.id < b.id : a.sessionId < b.sessionId;
}
