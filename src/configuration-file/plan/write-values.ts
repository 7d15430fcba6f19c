import { isDeepStrictEqual } from 'node:util';
import type { TObject, TSchema } from 'typebox';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { pointerTo } from '../../lib/schema/field-problem.ts';
import { isObjectSchema, itemsWithSecrets, openValues, secretVisibility } from '../../lib/schema/schema-facts.ts';
import { defaultOf, hasDefault } from '../../lib/schema/wire-forms.ts';
import type { ReadSecret } from '../stored-form.ts';
import { type SecretValues, valueOfSecret, type WantedForm } from './field-changes.ts';

interface Sources {
  readonly wanted: WantedForm;
  readonly present: ReadonlyMap<string, ReadSecret> | null;
  readonly secretValue: SecretValues;
}

/** The values of some fields as the API takes them, with secrets. `names` null: all that differ from their defaults. */
export function writeValues(schema: TObject, names: ReadonlySet<string> | null, sources: Sources): JsonObject {
  const entries = Object.entries(schema.properties).flatMap(([name, field]): [string, JsonValue][] => {
    if (names !== null && !names.has(name)) return [];
    const value = fieldValue(field, sources.wanted.config[name], pointerTo('', name), sources);
    const isLeftOut = value === undefined || (names === null && isDefault(field, value));
    return isLeftOut ? [] : [[name, value]];
  });
  return Object.fromEntries(entries);
}

function fieldValue(
  field: TSchema,
  value: JsonValue | undefined,
  pointer: string,
  sources: Sources,
): JsonValue | undefined {
  if (secretVisibility(field) !== undefined) return secretAt(pointer, sources);
  const items = itemsWithSecrets(field);
  if (items !== null && Array.isArray(value)) {
    return value.map((item: JsonValue, at) => fieldValue(items, item, pointerTo(pointer, String(at)), sources) ?? item);
  }
  if (!isObjectSchema(field) || !isJsonObject(value)) return value;
  const entries = Object.entries(field.properties).flatMap(([name, inner]): [string, JsonValue][] => {
    const found = fieldValue(inner, value[name], pointerTo(pointer, name), sources);
    return found === undefined || found === null ? [] : [[name, found]];
  });
  return { ...openValues(field, value), ...Object.fromEntries(entries) };
}

/** A secret that the files do not name stays as it is: one that could be read is sent back. `redirectedSecrets` has rejected new destinations. */
function secretAt(pointer: string, { wanted, present, secretValue }: Sources): JsonValue | undefined {
  const secret = wanted.secrets.get(pointer);
  if (secret !== undefined) return valueOfSecret(secret, secretValue);
  const known = present?.get(pointer);
  return known?.state === 'known' ? known.value : undefined;
}

function isDefault(field: TSchema, value: JsonValue): boolean {
  return value === null || (hasDefault(field) && isDeepStrictEqual(value, defaultOf(field)));
}
