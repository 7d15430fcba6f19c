import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';

/** More than any list or map may contain here, so that an oversized one stays oversized. */
const MAX_MEMBERS = 1001;
/** A problem points to its field by the full name up to this length. */
const MAX_NAME_LENGTH = 8192;
/** Deeper than any schema. */
const MAX_DEPTH = 16;
/** In all: the validator takes 4 µs for each. */
const MAX_VALUES = 1500;

export interface Clipped {
  readonly body: JsonValue;
  /** Whether nothing was left out but what no valid body has. */
  readonly isWhole: boolean;
}

/** A body without most of its excess, for messages about it: long lists, long names, deep nesting. */
export function clipped(body: JsonObject): Clipped {
  const budget = { left: MAX_VALUES };
  return { body: clippedValue(body, 0, budget), isWhole: budget.left > 0 };
}

function clippedValue(value: JsonValue, depth: number, budget: { left: number }): JsonValue {
  budget.left -= 1;
  if (depth > MAX_DEPTH) return null;
  if (Array.isArray(value)) {
    const items: JsonValue[] = [];
    for (const item of value.slice(0, MAX_MEMBERS)) {
      if (budget.left <= 0) break;
      items.push(clippedValue(item, depth + 1, budget));
    }
    return items;
  }
  if (!isJsonObject(value)) return value;
  const entries: [string, JsonValue][] = [];
  for (const name of Object.keys(value).slice(0, MAX_MEMBERS)) {
    if (budget.left <= 0) break;
    entries.push([name.slice(0, MAX_NAME_LENGTH), clippedValue(value[name] as JsonValue, depth + 1, budget)]);
  }
  return Object.fromEntries(entries);
}
