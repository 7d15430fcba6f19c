import type { TObject } from 'typebox';
import { isJsonObject, type JsonObject } from '../lib/json.ts';
import type { OperationBody } from '../resources/operation.ts';
import { invalidBody } from './errors.ts';

/**
 * Removes what generated clients add: path parameters repeated in the body, and a module wrapped as `{"module": …}`.
 */
export function withoutAddedFields(
  body: OperationBody,
  parsed: JsonObject,
  params: Readonly<Record<string, string>>,
): JsonObject {
  const own = (body.schema as TObject).properties ?? {};
  const rest = Object.entries(parsed).filter(([name, value]) => {
    if (!Object.hasOwn(params, name) || Object.hasOwn(own, name)) return true;
    if (value === params[name] || value === null) return false;
    throw invalidBody([
      { path: `/${name}`, message: `must be the same as in the path ("${params[name]}"), or omitted` },
    ]);
  });
  const [first] = rest;
  if (body.canBeWrapped === true && rest.length === 1 && first?.[0] === 'module') {
    const inside = first[1] ?? {};
    if (isJsonObject(inside)) return inside;
  }
  return Object.fromEntries(rest);
}
