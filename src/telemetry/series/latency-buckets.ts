/** Four buckets for each doubling, from 0.25 ms to more than an hour: a quantile is at most 19 % too high. */
const PER_DOUBLING = 4;
const SMALLEST_MS = 0.25;
export const BUCKETS = 96;

export function bucketOf(ms: number): number {
  if (!(ms > SMALLEST_MS)) return 0;
  return Math.min(BUCKETS - 1, Math.ceil(Math.log2(ms / SMALLEST_MS) * PER_DOUBLING));
}

/** Upper bound of the bucket that contains the quantile, in milliseconds; 0 without a request. */
export function quantile(counts: Uint32Array, total: number, share: number): number {
  if (total === 0) return 0;
  const wanted = Math.max(1, Math.ceil(total * share));
  let seen = 0;
  for (let bucket = 0; bucket < counts.length; bucket += 1) {
    seen += counts[bucket] as number;
    if (seen >= wanted) return SMALLEST_MS * 2 ** (bucket / PER_DOUBLING);
  }
  return SMALLEST_MS * 2 ** ((BUCKETS - 1) / PER_DOUBLING);
}
