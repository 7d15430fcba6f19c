import type { TObject } from 'typebox';
import { invalidBody } from '../documents/errors.ts';
import { isJsonObject, type JsonObject } from '../lib/json.ts';
import type { Operation, OperationBody } from '../resources/operation.ts';
import { apiErrors } from './errors.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Text of a body. A decoder with replacement characters would store something other than what was sent. */
export function decodeText(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw apiErrors.create('ERR_POSTERN_INVALID_JSON', 'the body is not UTF-8');
  }
}

export function invalidJson(): Error {
  return apiErrors.create(
    'ERR_POSTERN_INVALID_JSON',
    'the body is not valid JSON: send an object such as {"enabled": true}',
  );
}

/**
 * Removes what generated clients add: path parameters repeated in the body, and a module wrapped as `{"module": …}`.
 */
export function unwrapBody(body: OperationBody, parsed: unknown, params: Readonly<Record<string, string>>): JsonObject {
  if (parsed === undefined) return {};
  if (!isJsonObject(parsed))
    throw apiErrors.create('ERR_POSTERN_INVALID_JSON', 'the body must be a JSON object, such as {"enabled": true}');
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

/** Operations with a body treat an absent one as `{}`; those without a body ignore it. */
export function takesBody(operation: Operation): operation is Operation & { body: OperationBody } {
  return operation.body !== undefined && operation.body.parsing !== 'ignored';
}
