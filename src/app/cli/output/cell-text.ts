import { isJsonObject, type JsonValue } from '../../../kit/json.ts';
import { printable } from '../../../kit/text/terminal-text.ts';

export { printable } from '../../../kit/text/terminal-text.ts';

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

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/;

/**
 * A time of the API as a person at a terminal reads it: `2026-11-19 18:05:09` in local time, or with a Z in UTC. Null:
 * it is no time.
 */
export function timeText(text: string, isUtc: boolean): string | null {
  if (!TIME.test(text)) return null;
  const at = new Date(text);
  const shifted = isUtc ? at : new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return `${shifted.toISOString().slice(0, 19).replace('T', ' ')}${isUtc ? 'Z' : ''}`;
}

/** To the minute: a cell of a table. */
export function minuteText(text: string, isUtc: boolean): string | null {
  return timeText(text, isUtc)?.replace(/:\d\d(Z?)$/, '$1') ?? null;
}
