/** A word this short has a candidate within two edits by chance: `ls` is not `ca`, and `test` is not `edge`. */
const SHORT_WORD = 5;

/** The candidates closest to a misspelled word, best first. Where one is a single slip away, no others are named. */
function nearMatches(word: string, candidates: Iterable<string>, most = 3): string[] {
  const limit = word.length <= SHORT_WORD ? 1 : Math.min(3, Math.max(2, Math.floor(word.length / 4)));
  const scored: { candidate: string; distance: number }[] = [];
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase(), limit);
    if (distance <= limit) scored.push({ candidate, distance });
  }
  scored.sort((a, b) => a.distance - b.distance);
  const isSlip = scored[0] !== undefined && scored[0].distance <= 1;
  return scored
    .filter(({ distance }) => !isSlip || distance <= 1)
    .slice(0, most)
    .map((entry) => entry.candidate);
}

/**
 * Edits and swaps of two neighbors, abandoned beyond `limit`; the input is bounded because it may come from a client.
 */
function editDistance(from: string, to: string, limit: number): number {
  if (from.length > 64 || Math.abs(from.length - to.length) > limit) return limit + 1;
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  let beforeThat: number[] = [];
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const substitution = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      const isSwap = row > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const swap = isSwap ? (beforeThat[column - 2] ?? 0) + 1 : substitution;
      current[column] = Math.min(substitution, swap, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1);
    }
    beforeThat = previous;
    previous = current;
  }
  return previous[to.length] ?? limit + 1;
}

/** A sentence to append to "unknown …", starting with a space; empty when nothing is close. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const near = nearMatches(word, candidates);
  return near.length === 0 ? '' : ` Did you mean ${near.map((candidate) => `"${candidate}"`).join(' or ')}?`;
}
