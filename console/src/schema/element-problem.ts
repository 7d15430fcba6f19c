import type { JsonSchema } from './json-schema.ts';
import { textProblem } from './text-problem.ts';

/** What stands against one element of a list while it is typed; null: nothing. */
export function elementProblem(values: readonly unknown[], index: number, items: JsonSchema): string | null {
  const value = values[index];
  if (value === '') return 'It is empty: fill it in, or remove it.';
  if (items.type === 'integer' || items.type === 'number')
    return typeof value === 'number' ? textProblem(value, items, true) : 'It is not a number.';
  if (values.indexOf(value) < index) return 'It is in the list already.';
  return textProblem(value, items, true);
}

/** What stands against the number of elements. */
export function countProblem(count: number, { minItems = 0, maxItems }: JsonSchema): string | null {
  if (maxItems !== undefined && count > maxItems) return `It has ${count} entries, and ${maxItems} are allowed.`;
  return count > 0 && count < minItems ? `It needs at least ${minItems} entries.` : null;
}
