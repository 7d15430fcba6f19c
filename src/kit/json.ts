export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export type JsonObject = { readonly [field: string]: JsonValue };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** JSON with sorted object keys: equal documents give equal text, regardless of field order. */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const fields = Object.keys(value).sort();
  return `{${fields.map((field) => `${JSON.stringify(field)}:${canonicalJson(value[field] as JsonValue)}`).join(',')}}`;
}

/** The names of a JSON pointer, whose names need no escapes. */
export function pathOf(pointer: string): readonly string[] {
  return pointer.slice(1).split('/');
}

export function valueAt(value: JsonValue | undefined, path: readonly string[]): JsonValue | undefined {
  let at: JsonValue | undefined = value;
  for (const name of path) {
    if (Array.isArray(at)) at = at[Number(name)];
    else at = isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
  return at;
}

/** A copy with a value at a path, or without that field; objects on the way are made, items of lists are not. */
export function withValue(object: JsonObject, path: readonly string[], value: JsonValue | undefined): JsonObject {
  const [name, ...rest] = path as [string, ...string[]];
  const copy: Record<string, JsonValue> = { ...object };
  if (rest.length > 0) {
    const inner = copy[name];
    if (Array.isArray(inner)) {
      const [index, ...inItem] = rest as [string, ...string[]];
      copy[name] = inner.map((item: JsonValue, at) =>
        at === Number(index) && isJsonObject(item) ? withValue(item, inItem, value) : item,
      );
    } else copy[name] = withValue(isJsonObject(inner) ? inner : {}, rest, value);
  } else if (value === undefined) delete copy[name];
  else copy[name] = value;
  return copy;
}

const MANY_DIGITS = /\d{16}/;

/**
 * JSON.parse, but integers beyond 2^53 become their text. As numbers, different ones would be equal, which identifiers
 * must never be. The reviver is slow, so texts without a long number do without it.
 */
export function parseExactJson(text: string): unknown {
  return MANY_DIGITS.test(text) ? JSON.parse(text, exact) : JSON.parse(text);
}

function exact(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value;
  return context?.source ?? String(value);
}
