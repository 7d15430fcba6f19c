import type { TSchema } from 'typebox';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { ANY_NAME } from '../../lib/schema/map-of.ts';

/**
 * A validating schema as plain JSON, in the form that OpenAPI tools support best: maps become `additionalProperties`,
 * and enumerations state their type. openapi-generator 7.25 makes programs that do not compile of a field that is always
 * null, of unions of lists and other values, and of defaults that are objects: the document has none of them.
 */
export function wireSchema(schema: TSchema): JsonObject {
  return spelled(JSON.parse(JSON.stringify(schema)) as JsonObject);
}

function spelled(schema: JsonObject): JsonObject {
  if (schema['type'] === 'null') return { ...schema, type: ['string', 'null'] };
  if (isListOrOther(schema)) return spelledListOrOther(schema);
  const nullable = nullableScalar(schema);
  if (nullable !== null) return spelled(nullable);
  const result: Record<string, JsonValue> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'properties') result[keyword] = eachOf(value as JsonObject);
    else if (keyword === 'patternProperties') Object.assign(result, spelledMap(value as JsonObject));
    else if (keyword === 'anyOf') result[keyword] = (value as readonly JsonObject[]).map(spelledOption);
    else if (keyword === 'allOf') result[keyword] = (value as readonly JsonObject[]).map(spelled);
    // The example of the whole object, or of the request, has one of every field. Secrets go where the server sends them.
    else if (keyword === 'examples' || keyword === 'x-sent-to') continue;
    else if (keyword === 'items' || keyword === 'additionalProperties') result[keyword] = spelledNested(value);
    else if (keyword === 'enum') Object.assign(result, spelledEnum(value as readonly JsonValue[]));
    else if (keyword !== 'default' || isMeantDefault(schema, value)) result[keyword] = value;
  }
  return result;
}

/** Beside other types, null is one of them. The union's description is the one of the field. */
function spelledOption(described: JsonObject): JsonObject {
  const option = Object.fromEntries(Object.entries(described).filter(([keyword]) => keyword !== 'description'));
  return option['type'] === 'null' ? option : spelled(option);
}

const SCALARS: readonly JsonValue[] = ['string', 'integer', 'number', 'boolean'];

/** A scalar or null as one type list. An enumeration would have to name null as well: it stays a union. */
function nullableScalar({ anyOf: options, ...rest }: JsonObject): JsonObject | null {
  if (!Array.isArray(options) || options.length !== 2) return null;
  const [{ type, ...scalar }, other] = options as unknown as readonly [JsonObject, JsonObject];
  if (other['type'] !== 'null' || type === undefined || !SCALARS.includes(type)) return null;
  if ('enum' in scalar || 'const' in scalar) return null;
  return { type: [type, 'null'], ...scalar, ...rest };
}

function isListOrOther({ anyOf: options }: JsonObject): boolean {
  if (!Array.isArray(options)) return false;
  const types = new Set((options as readonly JsonObject[]).map(({ type }) => type).filter((type) => type !== 'null'));
  return types.has('array') && types.size > 1;
}

/** A value or a list of such values is documented as the list; any other mixture as any value. */
function spelledListOrOther({ anyOf: options, ...rest }: JsonObject): JsonObject {
  const list = (options as readonly JsonObject[]).find(({ type }) => type === 'array') as JsonObject;
  const isAlsoAlone = (options as readonly JsonObject[]).every(
    (option) => option === list || canonicalJson(option) === canonicalJson(list['items'] ?? null),
  );
  return isAlsoAlone ? spelled({ ...list, ...rest }) : rest;
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
  if (values.every((value) => typeof value === 'string')) return { type: 'string', enum: values };
  return { ...(values.every(Number.isInteger) && { type: 'integer' }), enum: values as JsonValue };
}

/** Null, or `""` where the field's own pattern rejects it, means "unset": as a documented default it would mislead. */
function isMeantDefault(schema: JsonObject, value: JsonValue): boolean {
  return value !== null && !isJsonObject(value) && !(value === '' && schema['pattern'] !== undefined);
}
