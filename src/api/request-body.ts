import { withoutAddedFields } from '../documents/unwrap-body.ts';
import { isJsonObject, type JsonObject } from '../lib/json.ts';
import { DoubledNameError, type JsonLimits } from '../lib/text/json-shape.ts';
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

/** `cause` is a RangeError where a limit other than the size was exceeded. */
export function invalidJson(cause?: unknown): Error {
  const message = 'the body is not valid JSON: send an object such as {"enabled": true}';
  if (cause instanceof DoubledNameError)
    return apiErrors.create('ERR_POSTERN_INVALID_JSON', `in the body, ${cause.message}`);
  return apiErrors.create('ERR_POSTERN_INVALID_JSON', cause instanceof RangeError ? cause.message : message, { cause });
}

export function tooMuchJson(limit: keyof JsonLimits, allowed: number): Error {
  const message =
    limit === 'maxValues'
      ? `the body has more than ${allowed} values, counted with all lists and objects in it: send fewer, or split it`
      : `the body is nested more than ${allowed} levels deep: no operation needs that`;
  return apiErrors.create('ERR_POSTERN_INVALID_JSON', message);
}

/** A body as an operation expects it; an absent one is `{}`. */
export function unwrapBody(body: OperationBody, parsed: unknown, params: Readonly<Record<string, string>>): JsonObject {
  if (parsed === undefined) return {};
  if (!isJsonObject(parsed))
    throw apiErrors.create('ERR_POSTERN_INVALID_JSON', 'the body must be a JSON object, such as {"enabled": true}');
  return withoutAddedFields(body, parsed, params);
}

/** Operations with a body treat an absent one as `{}`; those without a body ignore it. */
export function takesBody(operation: Operation): operation is Operation & { body: OperationBody } {
  return operation.body !== undefined && operation.body.parsing !== 'ignored';
}
