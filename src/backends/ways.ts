/** Each way costs memory, and time of every request that might go there. */
const MAX_WAYS = 10_000;
/** Backends that name each other, one below the other. */
const MAX_LEVELS = 20;

/**
 * How many ways a request can take through backends that name others, counted without walking them: two backends on each of
 * 20 levels that all name both of the next level are a million ways. Null: there are too many levels, as in a cycle.
 */
export function waysOf(id: string, membersOf: (id: string) => readonly string[]): number | null {
  const known = new Map<string, number>();
  const count = (each: string, depth: number): number | null => {
    const found = known.get(each);
    if (found !== undefined) return found;
    if (depth >= MAX_LEVELS) return null;
    const members = membersOf(each);
    let ways = members.length === 0 ? 1 : 0;
    for (const member of members) {
      const through = count(member, depth + 1);
      if (through === null) return null;
      ways += through;
    }
    known.set(each, ways);
    return ways;
  };
  return count(id, 0);
}

/** What is wrong with a backend that has so many, after its name; null: nothing. */
export function waysProblem(ways: number | null): string | null {
  if (ways === null) return `has more than ${MAX_LEVELS} levels of backends below each other: name fewer levels`;
  if (ways <= MAX_WAYS) return null;
  return `leads to ${ways} targets through backends that name others, and at most ${MAX_WAYS} are possible: name fewer backends`;
}
