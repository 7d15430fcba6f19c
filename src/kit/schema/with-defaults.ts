import type { TObject, TSchema } from 'typebox';
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';
import { isObjectSchema } from './schema-facts.ts';
import { defaultOf, hasDefault, isShownOnlyIfSet, itemsWithDefaults } from './wire-forms.ts';

/**
 * A stored configuration with the default of each field that it lacks, because it was stored before the field existed:
 * traffic and the API must read it alike. A configuration that lacks nothing is returned itself.
 */
export function withDefaults(schema: TObject, config: JsonObject): JsonObject {
  return isComplete(schema, config) ? config : completed(schema, config);
}

function isComplete(schema: TObject, config: JsonObject): boolean {
  for (const name of Object.keys(schema.properties)) {
    const field = schema.properties[name] as TSchema;
    const value = config[name];
    if (value === undefined ? isFilledIn(field) : !isCompleteField(field, value)) return false;
  }
  return true;
}

function isCompleteField(field: TSchema, value: JsonValue): boolean {
  if (Array.isArray(value)) {
    const items = itemsWithDefaults(field);
    return items === null || value.every((item: JsonValue) => !isJsonObject(item) || isComplete(items, item));
  }
  return !isObjectSchema(field) || !isJsonObject(value) || isComplete(field, value);
}

function isFilledIn(field: TSchema): boolean {
  return hasDefault(field) && !isShownOnlyIfSet(field);
}

/** A copy in the order of the schema, with defaults. Names that the schema does not have are kept, and come first. */
export function completed(schema: TObject, config: JsonObject): JsonObject {
  const others = Object.entries(config).filter(([name]) => !Object.hasOwn(schema.properties, name));
  const result: Record<string, JsonValue> = others.length === 0 ? {} : Object.fromEntries(others);
  for (const [name, field] of Object.entries(schema.properties)) {
    const given = config[name];
    if (given !== undefined) result[name] = completedField(field, given);
    else if (isFilledIn(field)) result[name] = completedField(field, copied(defaultOf(field) as JsonValue));
  }
  return result;
}

/** The same for the objects in a field: itself, or the items of a list. */
export function completedField(field: TSchema | undefined, value: JsonValue): JsonValue {
  const items = field === undefined || !Array.isArray(value) ? null : itemsWithDefaults(field);
  if (items !== null) return (value as readonly JsonValue[]).map((item) => completedField(items, item));
  // JSON can express -0, and nobody means it.
  if (field === undefined || !isObjectSchema(field) || !isJsonObject(value)) return Object.is(value, -0) ? 0 : value;
  return completed(field, value);
}

/** Most defaults are texts and numbers: cloning one takes longer than everything else about its field. */
function copied(value: JsonValue): JsonValue {
  return typeof value === 'object' ? structuredClone(value) : value;
}
