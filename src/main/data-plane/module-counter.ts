import { Counter, type Registry } from 'prom-client';

/**
 * A module's counter with one label. Counts are added up when metrics are collected: finding a value's series by its
 * label costs half a microsecond, and modules count requests.
 */
export function moduleCounter(
  registry: Registry,
  { name, help, label }: { readonly name: string; readonly help: string; readonly label: string },
): (value: string) => void {
  const counted = new Map<string, number>();
  new Counter({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      for (const [value, count] of counted) this.inc({ [label]: value }, count);
      counted.clear();
    },
  });
  return (value) => counted.set(value, (counted.get(value) ?? 0) + 1);
}
