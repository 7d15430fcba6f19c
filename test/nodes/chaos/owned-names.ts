/** A request that an owner's service received for a name. */
interface Served {
  readonly atMs: number;
  readonly owner: string;
}

/** A binding may be served a moment before its agent has read that it is bound. */
const NOTICE_MS = 1000;

/**
 * Finds two owners of one name. Services and agents run in the test's process, so their events have one order. An owner
 * that served, then another one, then the first again without a new binding: somebody served without the right to.
 */
export class OwnedNames {
  readonly #served = new Map<string, Served[]>();
  readonly #bound = new Map<string, Served[]>();

  bound(name: string, owner: string): void {
    push(this.#bound, name, { atMs: performance.now(), owner });
  }

  served(name: string, owner: string): void {
    const list = this.#served.get(name) ?? [];
    const last = list.at(-1);
    // Only changes of the owner matter, and the last request before each.
    if (last?.owner === owner && list.at(-2)?.owner === owner) list.pop();
    list.push({ atMs: performance.now(), owner });
    this.#served.set(name, list);
  }

  changes(): number {
    return [...this.#served.values()].reduce(
      (sum, list) => sum + list.filter(({ owner }, at) => at > 0 && list[at - 1]?.owner !== owner).length,
      0,
    );
  }

  violations(): readonly string[] {
    return [...this.#served].flatMap(([name, list]) => {
      const bound = this.#bound.get(name) ?? [];
      const lastBound = ({ owner, atMs }: Served): number =>
        bound.findLast((each) => each.owner === owner && each.atMs <= atMs + NOTICE_MS)?.atMs ?? -1;
      return list.flatMap((now, at) => {
        const before = list[at - 1];
        if (before === undefined || before.owner === now.owner || lastBound(now) > lastBound(before)) return [];
        return [
          `${name}: ${now.owner} (bound at ${Math.round(lastBound(now))}) served at ${Math.round(now.atMs)}, after ${before.owner} (bound at ${Math.round(lastBound(before))}) had served at ${Math.round(before.atMs)}`,
        ];
      });
    });
  }
}

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
