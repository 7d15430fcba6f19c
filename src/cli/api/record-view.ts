import type { TSchema } from 'typebox';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { isObjectSchema, secretVisibility } from '../../lib/schema/schema-facts.ts';
import { cellText, printable } from './cell-text.ts';

type Row = readonly [name: string, text: string];

/** One object as lines of name and value; fields of nested objects use dots. */
export function recordView(body: JsonObject, schema: TSchema | null): readonly string[] {
  const rows = rowsOf(body, schema, '');
  const width = Math.max(0, ...rows.map(([name]) => name.length)) + 2;
  return rows.flatMap(([name, text]) => {
    const [first = '', ...more] = text.split('\n');
    return [`${name.padEnd(width)}${first}`, ...more.map((line) => `${' '.repeat(width)}${line}`)];
  });
}

function rowsOf(body: JsonObject, schema: TSchema | null, prefix: string): readonly Row[] {
  return Object.entries(body).flatMap(([name, value]): readonly Row[] => {
    const field = fieldOf(schema, name);
    const label = `${prefix}${printable(name)}`;
    if (isHidden(field, value)) return [[label, '(set; --json shows it)']];
    if (isJsonObject(value) && !isNamed(value) && isFlattened(field)) return rowsOf(value, field, `${label}.`);
    return [[label, lines(value)]];
  });
}

/** Secrets that can be read again at any time are hidden on a screen. Those that are shown once must be visible. */
function isHidden(field: TSchema | null, value: JsonValue): boolean {
  return field !== null && secretVisibility(field) === 'readable' && value !== '' && value !== null;
}

function isNamed(value: JsonObject): boolean {
  return typeof value['id'] === 'string' && Object.keys(value).length === 2 && 'uri' in value;
}

function isFlattened(field: TSchema | null): boolean {
  return field === null || isObjectSchema(field);
}

/** Through `… | null`. */
function fieldOf(schema: TSchema | null, name: string): TSchema | null {
  if (schema === null || !isObjectSchema(schema)) return null;
  const field = schema.properties[name];
  const { anyOf } = (field ?? {}) as { anyOf?: readonly TSchema[] };
  return anyOf?.find((each) => isObjectSchema(each)) ?? field ?? null;
}

/** Keeps line breaks; removes control characters from each line. */
function lines(value: JsonValue): string {
  if (typeof value !== 'string' || !value.includes('\n')) return cellText(value);
  return value.trimEnd().split(/\r?\n/).map(printable).join('\n');
}
