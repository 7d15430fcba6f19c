import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';

/** More than any list or map may contain here, so that an oversized one stays oversized. */
const MAX_MEMBERS = 1001;
/** A problem points to its field by the full name up to this length. */
const MAX_NAME_LENGTH = 8192;
/** Deeper than any schema. */
const MAX_DEPTH = 16;

/** A body without most of its excess, for messages about it: long lists, long names, deep nesting. */
export function clipped(body: JsonObject): JsonValue {
  return clippedValue(body, 0);
}

function clippedValue(value: JsonValue, depth: number): JsonValue {
  if (depth > MAX_DEPTH) return null;
  if (Array.isArray(value)) return value.slice(0, MAX_MEMBERS).map((item) => clippedValue(item, depth + 1));
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).slice(0, MAX_MEMBERS);
  return Object.fromEntries(
    entries.map(([name, inner]) => [name.slice(0, MAX_NAME_LENGTH), clippedValue(inner, depth + 1)]),
  );
}
