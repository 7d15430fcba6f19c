import type { TSchema } from 'typebox';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { ANY_NAME } from '../../lib/schema/map-of.ts';

/**
 * A validating schema as plain JSON, in the form that OpenAPI tools support best. It accepts the same values: maps
 * become `additionalProperties`, and enumerations state their type.
 */
export function wireSchema(schema: TSchema): JsonObject {
  return spelled(JSON.parse(JSON.stringify(schema)) as JsonObject);
}

function spelled(schema: JsonObject): JsonObject {
  const result: Record<string, JsonValue> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'properties') result[keyword] = eachOf(value as JsonObject);
    else if (keyword === 'patternProperties') Object.assign(result, spelledMap(value as JsonObject));
    else if (keyword === 'anyOf') result[keyword] = (value as readonly JsonObject[]).map(spelled);
    else if (keyword === 'items' || keyword === 'additionalProperties') result[keyword] = spelledNested(value);
    else if (keyword === 'enum') Object.assign(result, spelledEnum(value as readonly JsonValue[]));
    else if (keyword !== 'default' || isMeantDefault(schema, value)) result[keyword] = value;
  }
  return result;
}

function eachOf(properties: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, spelled(field as JsonObject)]));
}

function spelledNested(value: JsonValue): JsonValue {
  return isJsonObject(value) ? spelled(value) : value;
}

function spelledMap(patterns: JsonObject): JsonObject {
  const [only] = Object.entries(patterns);
  return Object.keys(patterns).length === 1 && only?.[0] === ANY_NAME
    ? { additionalProperties: spelled(only[1] as JsonObject) }
    : { patternProperties: eachOf(patterns) };
}

function spelledEnum(values: readonly JsonValue[]): JsonObject {
  return values.every((value) => typeof value === 'string')
    ? { type: 'string', enum: values }
    : { enum: values as JsonValue };
}

/** Null, or `""` where the field's own pattern rejects it, means "unset": as a documented default it would mislead. */
function isMeantDefault(schema: JsonObject, value: JsonValue): boolean {
  return value !== null && !(value === '' && schema['pattern'] !== undefined);
}
