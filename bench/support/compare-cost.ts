import { isQuick, say } from './flags.ts';
import { h2load } from './h2load.ts';
import { cpuNanoseconds, median, quantile } from './process-cost.ts';

/**
 * Many short rounds instead of a few long ones: what else the machine does then meets all variants alike, and the
 * median ignores the rounds that it disturbed.
 */
const ROUNDS = isQuick ? 3 : 40;
const REQUESTS = isQuick ? 1000 : 4000;
/** Few, because each round pays for their handshakes. */
const CONNECTIONS = 8;
/** Not counted: the runtime keeps compiling for some ten thousand requests. */
const WARM_UP_ROUNDS = isQuick ? 1 : 15;

export interface CostVariant {
  /** As it stands in the output, such as `with a token`. */
  readonly name: string;
  readonly host: string;
  readonly headers: Readonly<Record<string, string>>;
  /** At most this many times the cost of the first variant. */
  readonly goal?: number;
}

export interface CostComparison {
  readonly server: { readonly pid: number; readonly edgePort?: number | undefined };
  readonly protocol: 'h1' | 'h2';
  readonly directory: string;
  /** The first is what the others are compared with. */
  readonly variants: readonly [CostVariant, ...CostVariant[]];
}

/**
 * Compares the server's CPU time per request of the variants, round by round. CPU time and not wall clock: other
 * processes of the machine cost this process time, but little work.
 */
export async function compareCost(comparison: CostComparison): Promise<void> {
  const { variants, protocol } = comparison;
  const micros = new Map<CostVariant, number[]>(variants.map((variant) => [variant, []]));
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
    for (const variant of round % 2 ? variants : variants.toReversed()) {
      const cost = await costOf(comparison, variant);
      if (round >= WARM_UP_ROUNDS) micros.get(variant)?.push(cost);
    }
  }
  const [base, ...others] = variants;
  const baseCosts = micros.get(base) ?? [];
  for (const variant of others) {
    const costs = micros.get(variant) ?? [];
    const ratios = costs.map((cost, at) => cost / (baseCosts[at] ?? cost));
    const [low, middle, high] = [0.25, 0.5, 0.75].map((part) => quantile(ratios, part).toFixed(2));
    const goal = variant.goal === undefined ? '' : `; goal at most ${variant.goal}`;
    say(
      `${protocol}: ${median(baseCosts).toFixed(1)} µs of CPU per request ${base.name}, ${median(costs).toFixed(1)} ${variant.name}: ${middle} × (median of ${ratios.length} rounds, half of them ${low} to ${high}${goal})`,
    );
  }
}

/** Microseconds of the server's CPU per request. */
async function costOf({ server, protocol, directory }: CostComparison, variant: CostVariant): Promise<number> {
  const before = cpuNanoseconds(server.pid);
  await h2load({
    protocol,
    host: variant.host,
    port: server.edgePort ?? 0,
    path: '/',
    requests: REQUESTS,
    connections: CONNECTIONS,
    streams: 10,
    headers: variant.headers,
    directory,
  });
  return (cpuNanoseconds(server.pid) - before) / REQUESTS / 1000;
}
