import type { TSchema } from 'typebox';
import { PosternApiError, PosternConnectionError } from '../../../client/call-errors.ts';
import { Transport } from '../../../client/transport.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import { isObjectSchema, referenceAnnotation } from '../../../kit/schema/schema-facts.ts';
import { fetchWith } from '../api/api-fetch.ts';
import type { ApiKey } from '../api/api-key.ts';
import type { RequestParts } from '../api/build-request.ts';
import type { OperationDescription } from '../api/operation-list.ts';
import type { CommandContext } from '../command.ts';
import { isId, Names } from './names.ts';

/** Whether a request has something that is not an id where an id belongs: only then lists are read. */
export async function resolveRequest(
  operation: OperationDescription,
  parts: RequestParts,
  names: Names,
): Promise<RequestParts> {
  return {
    path: await resolvePath(operation, parts.path, names),
    query: await resolveQuery(operation, parts.query, names),
    body:
      operation.body === undefined
        ? parts.body
        : ((await resolveBody(parts.body, operation.body.schema, names)) as JsonObject),
  };
}

/** From left to right: the list of routes needs the id of the edge. */
async function resolvePath(
  { path }: OperationDescription,
  given: RequestParts['path'],
  names: Names,
): Promise<RequestParts['path']> {
  const values: Record<string, string> = { ...given };
  const route = splitRoute(given);
  if (route !== null) {
    const found = await names.route(route);
    return { ...values, edge_id: found?.edgeId ?? route, id: found?.routeId ?? route };
  }
  for (const [parameter, name] of Object.entries(given)) {
    if (!/^id$|_id$/.test(parameter)) continue;
    const [collection = ''] = path.split(`/{${parameter}}`);
    values[parameter] = await names.idIn(collection, name, values);
  }
  return values;
}

/** The name that stands for both the edge and the route. */
function splitRoute({ edge_id: edge, id }: RequestParts['path']): string | null {
  return edge === '' && id !== undefined ? id : null;
}

async function resolveQuery(
  operation: OperationDescription,
  given: RequestParts['query'],
  names: Names,
): Promise<RequestParts['query']> {
  const query: Record<string, JsonValue> = { ...given };
  const fields = (operation.query?.properties ?? {}) as Record<string, { readonly pattern?: string }>;
  for (const [field, value] of Object.entries(given)) {
    const pattern = fields[field]?.pattern;
    // A cursor may be the id of something that is gone.
    if (field === 'before_id' || pattern === undefined || typeof value !== 'string') continue;
    query[field] = await names.idOfPattern(pattern, value);
  }
  return query;
}

async function resolveBody(value: JsonValue, schema: TSchema, names: Names): Promise<JsonValue> {
  const reference = referenceAnnotation(schema);
  if (reference !== undefined) return resolveReference(value, reference.kinds, names);
  const { items } = schema as { readonly items?: TSchema };
  if (Array.isArray(value) && items !== undefined) {
    return Promise.all(value.map((item: JsonValue) => resolveBody(item, items, names)));
  }
  if (!isJsonObject(value) || !isObjectSchema(schema)) return value;
  const resolved: Record<string, JsonValue> = {};
  for (const [name, inner] of Object.entries(value)) {
    const field = schema.properties[name];
    resolved[name] = field === undefined ? (inner as JsonValue) : await resolveBody(inner as JsonValue, field, names);
  }
  return resolved;
}

/** An id, a list of ids, or a map whose keys are ids. */
async function resolveReference(value: JsonValue, kinds: readonly string[], names: Names): Promise<JsonValue> {
  const idOf = async (name: JsonValue): Promise<JsonValue> =>
    typeof name !== 'string' || name === '' || isId(name) ? name : names.idOfKinds(kinds, name);
  if (Array.isArray(value)) return Promise.all(value.map(idOf));
  if (!isJsonObject(value)) return idOf(value);
  const entries = Object.entries(value).map(async ([name, inner]) => [await idOf(name), inner] as const);
  return Object.fromEntries(await Promise.all(entries)) as JsonObject;
}

/** For a dry run, which also works without a server: then names stay names. */
export async function resolvedIfPossible(
  operation: OperationDescription,
  parts: RequestParts,
  { url, apiKey, context }: { readonly url: string; readonly apiKey: ApiKey | null; readonly context: CommandContext },
): Promise<RequestParts> {
  const unresolved = parts.path['edge_id'] === '' ? { ...parts, path: { ...parts.path, edge_id: 'EDGE' } } : parts;
  if (apiKey === null) return unresolved;
  const transport = new Transport({
    baseUrl: url,
    fetch: fetchWith(apiKey),
    apiKey: apiKey.key,
    retry: { maxRetries: 0 },
  });
  try {
    return await resolveRequest(operation, parts, new Names(transport, context));
  } catch (error) {
    if (!(error instanceof PosternApiError) && !(error instanceof PosternConnectionError)) throw error;
    return unresolved;
  }
}
