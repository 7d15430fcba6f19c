import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';

/** Replaces ids that stand for objects, also where they are keys of a map. */
export function replaceIds(value: JsonObject, idOf: (standIn: string) => JsonValue | undefined): JsonObject {
  return replaced(value, idOf) as JsonObject;
}

function replaced(value: JsonValue, idOf: (standIn: string) => JsonValue | undefined): JsonValue {
  if (typeof value === 'string') return idOf(value) ?? value;
  if (Array.isArray(value)) return value.map((item) => replaced(item as JsonValue, idOf));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [keyOf(idOf(name)) ?? name, replaced(inner, idOf)]),
  );
}

/** The result of an operation has another form as a key. */
function keyOf(id: JsonValue | undefined): string | undefined {
  if (!isJsonObject(id)) return id as string | undefined;
  return operationId(id['$ref'] as number);
}

/** Stands for the id that an operation of the changeset makes, in paths and keys. */
export function operationId(operation: number): string {
  return `$\{${operation}.id}`;
}

/** Every text in a value that may be an id. */
export function* textsIn(value: JsonValue): Iterable<string> {
  if (typeof value === 'string') yield value;
  else if (Array.isArray(value)) for (const item of value) yield* textsIn(item as JsonValue);
  else if (isJsonObject(value)) {
    for (const [name, inner] of Object.entries(value)) {
      yield name;
      yield* textsIn(inner);
    }
  }
}
