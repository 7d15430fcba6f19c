import { median, quantile } from './process-cost.ts';

/** Something whose cost is measured in rounds. */
export interface Measured<Cost = number> {
  /** Returns the cost of one round. */
  round(): Promise<Cost>;
}

export interface Compared<Cost = number> {
  /** Costs, round by round. */
  readonly base: readonly Cost[];
  readonly other: readonly Cost[];
}

export interface Ratio {
  readonly median: number;
  readonly standardError: number;
  /** The middle half of the rounds. */
  readonly low: number;
  readonly high: number;
  readonly rounds: number;
}

/**
 * Two variants in turn. Many short rounds instead of a few long ones: what else the machine does then meets both alike.
 * The order changes from round to round, since a variant also meets what the one before has left in the caches.
 */
export async function interleaved<Cost = number>(
  base: Measured<Cost>,
  other: Measured<Cost>,
  { rounds, warmUp }: { readonly rounds: number; readonly warmUp: number },
): Promise<Compared<Cost>> {
  const costs = { base: [] as Cost[], other: [] as Cost[] };
  for (let round = 0; round < warmUp + rounds; round += 1) {
    const first = round % 2 === 0 ? base : other;
    const one = await first.round();
    const two = await (first === base ? other : base).round();
    if (round < warmUp) continue;
    costs.base.push(first === base ? one : two);
    costs.other.push(first === base ? two : one);
  }
  return costs;
}

/**
 * The ratio of neighboring rounds, over one or more pairs of processes. Two processes of the same program differ by
 * some percent for as long as they run, so rounds of one pair are no independent samples: the error is at least the one
 * of the pairs' medians.
 */
export function ratioOf(pairs: readonly Compared[]): Ratio {
  const byPair = pairs.map(({ base, other }) => other.map((cost, at) => cost / (base[at] ?? cost)));
  const ratios = byPair.flat();
  const [low, middle, high] = [0.25, 0.5, 0.75].map((part) => quantile(ratios, part)) as [number, number, number];
  // The error of a median is 1.25 times that of a mean, and a standard deviation is 0.74 of the distance of the
  // quartiles.
  const ofRounds = (1.25 * 0.74 * (high - low)) / Math.sqrt(ratios.length);
  const standardError = Math.max(ofRounds, errorOfMean(byPair.map(median)));
  return { median: middle, standardError, low, high, rounds: ratios.length };
}

/** Also the same of the least disturbed rounds: other work on the machine only ever adds to the CPU time of a round. */
export function comparison(pairs: readonly Compared[]): string {
  const ratio = ratioOf(pairs);
  const [base, other] = [pairs.flatMap((pair) => pair.base), pairs.flatMap((pair) => pair.other)];
  const calm = quantile(other, CALM) / quantile(base, CALM);
  return `${median(base).toFixed(1)} and ${median(other).toFixed(1)} µs of CPU per request: ${ratio.median.toFixed(3)} × ± ${ratio.standardError.toFixed(3)} (median of ${ratio.rounds} rounds, half of them ${ratio.low.toFixed(2)} to ${ratio.high.toFixed(2)}); ${calm.toFixed(3)} × in the calm rounds`;
}

const CALM = 0.1;

/** Zero for fewer than two values: then nothing is known about it. */
function errorOfMean(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return Math.sqrt(squares / (values.length - 1) / values.length);
}
