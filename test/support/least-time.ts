/**
 * Milliseconds of the fastest of several runs: other processes make runs slower, never faster. For ratios, not for
 * limits.
 */
export function leastTime(run: () => unknown, runs = 9): number {
  let least = Number.POSITIVE_INFINITY;
  for (let count = 0; count < runs; count += 1) {
    const start = performance.now();
    run();
    least = Math.min(least, performance.now() - start);
  }
  return least;
}
