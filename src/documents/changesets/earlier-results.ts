import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { pointerTo } from '../../lib/schema/field-problem.ts';
import { invalidBody } from '../errors.ts';

/** Bodies of the operations so far; null for one that has none. */
export type EarlierResults = readonly (JsonObject | null)[];

/** Far more than any body has. */
const MAX_DEPTH = 64;
const WHOLE = /^\$\{\d{1,5}\.[A-Za-z_]\w*\}$/;
const IN_PATH = /\$\{(\d{1,5})\.([A-Za-z_]\w*)\}/g;

/** Replaces `${0.id}` in a path by the field of an earlier result. */
export function resolvePath(path: string, results: EarlierResults): string {
  return path.replaceAll(IN_PATH, (_, index: string, field: string) => {
    const value = fieldOf(Number(index), field, results, '/path');
    if (typeof value === 'string') return encodeURIComponent(value);
    throw invalidBody([{ path: '/path', message: `names \${${index}.${field}}, which is not a text` }]);
  });
}

/** Replaces `{"$ref": 0, "field": "id"}` anywhere in a body by the field of an earlier result. */
export function resolveBody(body: JsonObject, results: EarlierResults): JsonObject {
  return resolveObject(body, results, '/body', 0) as JsonObject;
}

function resolve(value: JsonValue, results: EarlierResults, at: string, depth: number): JsonValue {
  if (depth > MAX_DEPTH)
    throw invalidBody([{ path: '/body', message: `is nested more than ${MAX_DEPTH} levels deep` }]);
  if (Array.isArray(value)) return value.map((each, index) => resolve(each, results, `${at}/${index}`, depth + 1));
  return isJsonObject(value) ? resolveObject(value, results, at, depth) : value;
}

function resolveObject(value: JsonObject, results: EarlierResults, at: string, depth: number): JsonValue {
  if (!Object.hasOwn(value, '$ref')) {
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [
        resolveKey(name, results),
        resolve(each, results, pointerTo(at, name), depth + 1),
      ]),
    );
  }
  const { $ref: index, field, ...others } = value;
  if (typeof index !== 'number' || typeof field !== 'string' || Object.keys(others).length > 0) {
    throw invalidBody([{ path: at, message: 'must be {"$ref": number of an earlier operation, "field": name}' }]);
  }
  return fieldOf(index, field, results, at);
}

/** Some maps have ids as their keys, such as the weights of a backend. */
function resolveKey(name: string, results: EarlierResults): string {
  return WHOLE.test(name) ? resolvePath(name, results) : name;
}

function fieldOf(index: number, field: string, results: EarlierResults, at: string): JsonValue {
  const result = results[index];
  if (result === undefined) {
    const message = `names operation ${index}, but only operations before this one have a result (0 to ${results.length - 1})`;
    throw invalidBody([
      { path: at, message: results.length === 0 ? `names operation ${index}, but this is the first one` : message },
    ]);
  }
  if (result === null || !Object.hasOwn(result, field)) {
    throw invalidBody([
      { path: at, message: `names the field "${field}", which the result of operation ${index} does not have` },
    ]);
  }
  return result[field] as JsonValue;
}
