import type { TObject } from 'typebox';
import { isJsonObject, type JsonObject } from '../../kit/json.ts';
import { resourceErrors } from '../resources/errors.ts';
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

const ID_PATTERN = /^[a-z]+_[0-9A-Za-z]{27}$/;

/**
 * A malformed id, or one with another resource's prefix, matches nothing: 404, without sending odd bytes to a database.
 */
export function checkIds(params: Readonly<Record<string, string>>): void {
  for (const name in params) {
    if (name === 'type' || name === 'revision') continue;
    const value = params[name] as string;
    if (!ID_PATTERN.test(value)) {
      throw resourceErrors.create(
        'ERR_POSTERN_NOT_FOUND',
        `"${value.slice(0, 64)}" is not an id: an id is a prefix, "_" and 27 letters and digits`,
      );
    }
  }
}
