import { isJsonObject, type JsonValue } from '../../lib/json.ts';
import { printable } from '../../lib/text/terminal-safe.ts';

export { printable } from '../../lib/text/terminal-safe.ts';

export const EMPTY = '-';

/** A value on one line, for display. A Ref becomes its id, a list its items, a map its pairs. */
export function cellText(value: JsonValue | undefined): string {
  if (value === null || value === undefined || value === '') return EMPTY;
  if (typeof value === 'string') return printable(value);
  if (Array.isArray(value)) return value.length === 0 ? EMPTY : value.map(cellText).join(', ');
  if (!isJsonObject(value)) return JSON.stringify(value);
  const id = value['id'] ?? value['type'];
  if (typeof id === 'string') return printable(id);
  const pairs = Object.entries(value).map(([name, inner]) => `${printable(name)}=${cellText(inner)}`);
  return pairs.length === 0 ? EMPTY : pairs.join(', ');
}
