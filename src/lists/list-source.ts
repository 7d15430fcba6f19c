import type { JsonObject, JsonValue } from '../lib/json.ts';

/** The table of countries has this name among the lists, and is the source of every list with `countries`. */
export const COUNTRIES = 'countries';

/** Where the entries of a list come from. A table from another source does not count. */
export function listSource({ url, file }: JsonObject): string {
  if (isText(url)) return `url ${url}`;
  return isText(file) ? `file ${file}` : COUNTRIES;
}

function isText(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value !== '';
}
