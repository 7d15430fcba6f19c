import type { TSchema } from 'typebox';
import { isJsonObject, type JsonValue } from '../../lib/json.ts';
import { isObjectSchema, SECRET_MASK, secretVisibility } from '../../lib/schema/schema-facts.ts';

/** The schema of a field, through lists and `… | null`; null where the schema does not define it. */
export function schemaOfField(schema: TSchema | null, name: string): TSchema | null {
  const inside = schema === null ? null : objectIn(schema);
  return inside !== null && isObjectSchema(inside) ? (inside.properties[name] ?? null) : null;
}

/**
 * The value with nested secrets masked. The value itself was requested and stays. Secrets that are shown only once stay
 * too: they cannot be read again.
 */
export function maskInnerSecrets(value: JsonValue, schema: TSchema | null): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => maskInnerSecrets(item, schema));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const field = schemaOfField(schema, name);
      const isSecret = field !== null && secretVisibility(field) === 'readable' && inner !== '' && inner !== null;
      return [name, isSecret ? SECRET_MASK : maskInnerSecrets(inner as JsonValue, field)];
    }),
  );
}

function objectIn(schema: TSchema): TSchema | null {
  if (isObjectSchema(schema)) return schema;
  const { items, anyOf } = schema as { items?: TSchema; anyOf?: readonly TSchema[] };
  if (items !== undefined) return objectIn(items);
  return anyOf?.map(objectIn).find((each) => each !== null) ?? null;
}
