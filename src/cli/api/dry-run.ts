import type { TSchema } from 'typebox';
import type { ApiRequest } from '../../client/transport.ts';
import { isJsonObject, type JsonValue } from '../../lib/json.ts';
import { isObjectSchema, itemsWithSecrets, secretVisibility } from '../../lib/schema/schema-facts.ts';

const MASK = '********';

/** The request as text, with all secrets masked. */
export function dryRun(
  url: string,
  request: ApiRequest,
  headers: Readonly<Record<string, string>>,
  schema: TSchema | undefined,
): readonly string[] {
  const sent = {
    authorization: `Bearer ${MASK}`,
    'service-version': '2',
    ...(request.body !== undefined && { 'content-type': 'application/json' }),
    ...headers,
  };
  const body =
    request.body === undefined ? [] : ['', JSON.stringify(masked(request.body as JsonValue, schema), null, 2)];
  return [
    `${request.method} ${url}${request.path}`,
    ...Object.entries(sent).map(([name, value]) => `${name}: ${value}`),
    ...body,
  ];
}

function masked(value: JsonValue, schema: TSchema | undefined): JsonValue {
  if (schema !== undefined && secretVisibility(schema) !== undefined) return MASK;
  const items = schema === undefined ? null : itemsWithSecrets(schema);
  if (items !== null && Array.isArray(value)) return value.map((item: JsonValue) => masked(item, items));
  if (!isJsonObject(value) || schema === undefined || !isObjectSchema(schema)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, masked(inner, schema.properties[name])]),
  );
}
