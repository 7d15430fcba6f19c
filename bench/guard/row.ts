import { type Compared, type Ratio, ratioOf } from '../support/interleaved.ts';
import { median } from '../support/process-cost.ts';

/** One line of the guard's table: what the same thing costs at both sides. */
export interface Row {
  readonly name: string;
  readonly unit: 'µs' | 'ms' | 'MiB' | 'KiB';
  /** One entry per pair of processes; the base is the checkout before. */
  readonly pairs: readonly Compared[];
}

const TOLERATED = 1.05;
const HEADINGS = ['before', 'after', 'ratio', '±'];
const NAME_WIDTH = 58;
const WIDTH = 12;

/** Costs more than is tolerated, and more than chance explains. */
export function isMarked({ median: ratio, standardError }: Ratio): boolean {
  return ratio > TOLERATED && ratio - 2 * standardError > 1;
}

export function tableHead(): string {
  return `${''.padEnd(NAME_WIDTH)}${HEADINGS.map((heading) => heading.padStart(WIDTH)).join('')}`;
}

export function tableLine({ name, unit, pairs }: Row): string {
  const ratio = ratioOf(pairs);
  const [before, after] = (['base', 'other'] as const).map((side) => median(pairs.flatMap((pair) => pair[side])));
  const cells = [
    `${(before ?? Number.NaN).toFixed(1)} ${unit}`,
    `${(after ?? Number.NaN).toFixed(1)} ${unit}`,
    `${ratio.median.toFixed(3)} ×`,
    ratio.standardError.toFixed(3),
  ];
  const mark = isMarked(ratio) ? '   << COSTS MORE' : '';
  return `${name.padEnd(NAME_WIDTH)}${cells.map((cell) => cell.padStart(WIDTH)).join('')}${mark}`;
}
