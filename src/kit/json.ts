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

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);

export interface JsonLimits {
  readonly maxValues: number;
  readonly maxDepth: number;
}

/**
 * Which limit a JSON text exceeds; null: none. It reads the bytes once, before anything is built of them: parsing and
 * checking 100,000 values takes a hundred times as long. A text that is not JSON gets any answer.
 */
export function exceededLimit(bytes: Uint8Array, { maxValues, maxDepth }: JsonLimits): keyof JsonLimits | null {
  let values = 1;
  let depth = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) {
      at += 1;
      while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
    } else if (byte === COMMA) {
      values += 1;
      if (values > maxValues) return 'maxValues';
    } else if (OPENING.has(byte)) {
      depth += 1;
      values += 1;
      if (depth > maxDepth) return 'maxDepth';
      if (values > maxValues) return 'maxValues';
    } else if (CLOSING.has(byte)) depth -= 1;
  }
  return null;
}

/** A JSON text in which an object has one name twice: readers disagree on which of the values counts. */
export class DoubledNameError extends SyntaxError {
  constructor(name: string) {
    super(`an object has the name ${JSON.stringify(name.slice(0, 64))} twice: remove one of them`);
    this.name = 'DoubledNameError';
  }
}

/** `JSON.parse`, except that a doubled name is a DoubledNameError. */
export function parseUniqueJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  refuseDoubledNames(text, value);
  return value;
}

/**
 * Throws DoubledNameError unless every name of the text is in the value that was parsed from it. Both are counted,
 * which costs a tenth of comparing names, and sees names that are only written differently.
 */
export function refuseDoubledNames(text: string, value: unknown): void {
  if (namesIn(text) !== namesOf(value)) throw new DoubledNameError(doubledName(text) ?? '');
}

/** The text must be JSON, so that each colon outside of a string follows a name. */
function namesIn(text: string): number {
  let names = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === COLON) names += 1;
    else if (code === QUOTE) at = endOfString(text, at);
  }
  return names;
}

/** Place of the quote that ends a string. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}

/** With a stack of its own: the nesting of a text may exceed that of calls. */
function namesOf(value: unknown): number {
  const waiting = [value];
  let names = 0;
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next !== 'object' || next === null) continue;
    const inner = Object.values(next);
    if (!Array.isArray(next)) names += inner.length;
    for (const each of inner) if (typeof each === 'object' && each !== null) waiting.push(each);
  }
  return names;
}

function doubledName(text: string): string | null {
  const open: Set<string>[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (OPENING.has(code)) open.push(new Set());
    else if (CLOSING.has(code)) open.pop();
    else if (code === QUOTE) {
      const end = endOfString(text, at);
      const raw = text.slice(at, end + 1);
      at = end;
      while (/\s/.test(text.charAt(at + 1))) at += 1;
      if (text.charCodeAt(at + 1) !== COLON) continue;
      const name = JSON.parse(raw) as string;
      if (open.at(-1)?.has(name) === true) return name;
      open.at(-1)?.add(name);
    }
  }
  return null;
}
