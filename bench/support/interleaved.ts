import { median, quantile } from './process-cost.ts';

/** Something whose cost is measured in rounds. */
export interface Measured {
  /** Returns the cost of one round. */
  round(): Promise<number>;
}

export interface Compared {
  /** Costs, round by round. */
  readonly base: readonly number[];
  readonly other: readonly number[];
}

/**
 * Two variants in turn. Many short rounds instead of a few long ones: what else the machine does then meets both alike. The order
 * changes from round to round, since a variant also meets what the one before has left in the caches.
 */
export async function interleaved(
  base: Measured,
  other: Measured,
  { rounds, warmUp }: { readonly rounds: number; readonly warmUp: number },
): Promise<Compared> {
  const costs = { base: [] as number[], other: [] as number[] };
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
 * The median of the ratios of neighbouring rounds, with its standard error, and the same of the least disturbed rounds: other work on
 * the machine only ever adds to the CPU time of a round.
 */
export function comparison({ base, other }: Compared): string {
  const ratios = other.map((cost, at) => cost / (base[at] ?? cost));
  const [low, middle, high] = [0.25, 0.5, 0.75].map((part) => quantile(ratios, part)) as [number, number, number];
  // The error of a median is 1.25 times that of a mean, and a standard deviation is 0.74 of the distance of the quartiles.
  const error = (1.25 * 0.74 * (high - low)) / Math.sqrt(ratios.length);
  const calm = quantile(other, CALM) / quantile(base, CALM);
  return `${median(base).toFixed(1)} and ${median(other).toFixed(1)} µs of CPU per request: ${middle.toFixed(3)} × ± ${error.toFixed(3)} (median of ${ratios.length} rounds, half of them ${low.toFixed(2)} to ${high.toFixed(2)}); ${calm.toFixed(3)} × in the calm rounds`;
}

const CALM = 0.1;
