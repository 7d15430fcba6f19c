import { useEffect, useRef } from 'preact/hooks';
import { clockTime } from '../format/times.ts';
import { isSystemDark, theme } from '../shell/theme.ts';

export interface Line {
  readonly name: string;
  /** Custom property of the color, such as "--accent". */
  readonly color: string;
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  readonly label: string;
  /** Seconds since 1970. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
}

const HEIGHT = 160;

/** uPlot is loaded with the first chart, not with the page. Its text form is in the label and the tables. */
export function Chart({ label, times, lines }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const chosen = theme.value;
  const isDark = isSystemDark.value;
  useEffect(() => {
    let isGone = false;
    let remove = (): void => {};
    void import('uplot').then(({ default: Uplot }) => {
      const element = box.current;
      if (isGone || element === null) return;
      const style = getComputedStyle(document.documentElement);
      const color = (name: string): string => style.getPropertyValue(name).trim();
      const axis = { stroke: color('--muted'), grid: { stroke: color('--line'), width: 1 }, ticks: { show: false } };
      const plot = new Uplot(
        {
          width: Math.max(200, element.clientWidth),
          height: HEIGHT,
          legend: { show: false },
          cursor: { drag: { x: false, y: false } },
          scales: { y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.1)] } },
          axes: [
            { ...axis, size: 30, values: (_plot, times) => times.map(hourAndMinute) },
            { ...axis, size: 44 },
          ],
          series: [
            {},
            ...lines.map((line) => ({
              label: line.name,
              stroke: color(line.color),
              width: 1.5,
              // Only a value without a neighbor needs a point to be seen.
              points: { show: true, size: 4, fill: color(line.color), filter: () => lonely(line.values) },
            })),
          ],
        },
        [[...times], ...lines.map(({ values }) => [...values])],
        element,
      );
      const observer = new ResizeObserver(() =>
        plot.setSize({ width: Math.max(200, element.clientWidth), height: HEIGHT }),
      );
      observer.observe(element);
      remove = () => {
        observer.disconnect();
        plot.destroy();
      };
    });
    return () => {
      isGone = true;
      remove();
    };
  }, [times, lines, chosen, isDark]);
  return (
    <figure class="stack-small">
      <div class="chart" ref={box} role="img" aria-label={label} />
      <figcaption class="chart-key">
        {lines.map(({ name, color }) => (
          <span key={name}>
            <i class={color === '--danger' ? 'danger' : ''} />
            {name}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

/** Positions of values between gaps. */
function lonely(values: Line['values']): number[] {
  const isGap = (at: number): boolean => typeof values[at] !== 'number';
  return [...values.keys()].filter((at) => !isGap(at) && isGap(at - 1) && isGap(at + 1));
}

function hourAndMinute(seconds: number): string {
  return clockTime(new Date(seconds * 1000).toISOString()).slice(0, 5);
}
