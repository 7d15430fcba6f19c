import type { TObject, TSchema } from 'typebox';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/json.ts';
import { isObjectSchema, isOpenSchema } from '../../../lib/schema/schema-facts.ts';
import { type ImportReport, isUnset, textFor } from '../import-report.ts';
import { NO_SUCH_FIELD, NOT_CARRIED } from './not-carried.ts';

const UNEXPECTED = 'not written: it has an unexpected shape';

/** The part of a document that Postern's own answers have. Every other field that is set is reported. */
export function knownPart(
  document: JsonObject,
  schema: TObject,
  place: readonly string[],
  report: ImportReport,
): JsonObject {
  const known: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(document) as [string, JsonValue][]) {
    const field = Object.hasOwn(schema.properties, name) ? schema.properties[name] : otherField(schema);
    if (field === undefined || isAlwaysNull(field))
      report.dropFields([...place, name], value, textFor(NOT_CARRIED, name, NO_SUCH_FIELD));
    else known[name] = partOf(value, field, [...place, name], report);
  }
  return known;
}

/** The field of every other name in a map, such as headers by name. */
function otherField(schema: TObject): TSchema | undefined {
  return isOpenSchema(schema)
    ? ((schema as { additionalProperties?: unknown }).additionalProperties as TSchema)
    : undefined;
}

/** A field of the retired API that answers still have, without a place for its value. */
function isAlwaysNull(field: TSchema): boolean {
  return (field as { readonly type?: string }).type === 'null';
}

function partOf(value: JsonValue, field: TSchema, place: readonly string[], report: ImportReport): JsonValue {
  const { anyOf, items } = field as { readonly anyOf?: readonly TSchema[]; readonly items?: TSchema };
  const schema = anyOf?.find((each) => isObjectSchema(each)) ?? field;
  if (isJsonObject(value) && isObjectSchema(schema)) return knownPart(value, schema, place, report);
  if (Array.isArray(value) && items !== undefined) {
    return value.map((item: JsonValue, index) => partOf(item, items, [...place, String(index)], report));
  }
  const isUnexpected = !isUnset(value) && (isObjectSchema(schema) || items !== undefined || isNoSwitch(value, schema));
  if (!isUnexpected) return value;
  report.drop(place, UNEXPECTED);
  return null;
}

function isNoSwitch(value: JsonValue, schema: TSchema): boolean {
  return (schema as { readonly type?: string }).type === 'boolean' && typeof value !== 'boolean';
}
