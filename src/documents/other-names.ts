import type { JsonObject, JsonValue } from '../lib/json.ts';
import { isEmpty } from '../lib/schema/decode-body.ts';
import { type FieldProblem, pointerTo } from '../lib/schema/field-problem.ts';
import type { OtherNames } from '../resources/resource.ts';

/** The body with the canonical field names. An alias sent beside its field must have the same value. */
export function withOwnNames(
  body: JsonObject,
  { aliases = {}, ignoredIfEmpty = [], retired = {} }: OtherNames,
  problems: FieldProblem[],
): JsonObject {
  const result: Record<string, JsonValue> = { ...body };
  for (const name of ignoredIfEmpty) if (name in result && isUnset(result[name])) delete result[name];
  for (const [name, instead] of Object.entries(retired)) {
    if (!isUnset(result[name])) problems.push({ path: pointerTo('', name), message: `is not available: ${instead}` });
    delete result[name];
  }
  for (const [alias, field] of Object.entries(aliases)) {
    const value = result[alias];
    if (value === undefined) continue;
    delete result[alias];
    if (isUnset(result[field])) result[field] = value;
    else if (!isUnset(value) && value !== result[field])
      problems.push({ path: pointerTo('', alias), message: `is an alias of "${field}" and has a different value` });
  }
  return result;
}

/** The body of a PATCH as a client of the retired service meant it. */
export function legacyPatchBody(body: JsonObject, { leftOutIfEmptyOnPatch = [] }: OtherNames): JsonObject {
  return Object.fromEntries(
    Object.entries(body).filter(([name, value]) => !(leftOutIfEmptyOnPatch.includes(name) && isEmpty(value))),
  );
}

function isUnset(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || isEmpty(value);
}
