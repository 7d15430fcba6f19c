import { isDeepStrictEqual } from 'node:util';
import type { TObject, TSchema } from 'typebox';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { isObjectSchema, openValues, type SecretVisibility, secretVisibility } from '../../lib/schema/schema-facts.ts';
import { shownPath } from '../check-config.ts';
import { fileFieldName } from '../file-form.ts';
import type { ReadSecret, StoredForm } from '../stored-form.ts';
import type { FileSecret, PlacedSecret } from '../wire-body.ts';
import type { FieldChange } from './object-change.ts';

export interface WantedForm {
  readonly config: JsonObject;
  readonly secrets: ReadonlyMap<string, FileSecret>;
}

export type SecretValues = (secret: PlacedSecret) => string;

export interface ConfigDifference {
  readonly fields: readonly FieldChange[];
  /** Top-level fields to send, by the names of the API. */
  readonly changed: ReadonlySet<string>;
  /** Top-level fields with a secret that only the server can compare. */
  readonly undecided: ReadonlySet<string>;
}

/** Compares a configuration of the files with the one of the server; null: the server has none. */
export function fieldChanges(
  schema: TObject,
  wanted: WantedForm,
  present: StoredForm | null,
  secretValue: SecretValues,
): ConfigDifference {
  const changed = new Set<string>();
  const undecided = new Set<string>();
  const fields: FieldChange[] = [];
  for (const [name, field] of Object.entries(schema.properties)) {
    if (secretVisibility(field) !== undefined) continue;
    const before = present?.config[name];
    const after = wanted.config[name];
    const found = differences(field, before, after, [fileFieldName(name, field)]);
    if (found.length === 0) continue;
    changed.add(name);
    fields.push(...found);
  }
  for (const [pointer, secret] of wanted.secrets) {
    const read = present === null ? UNSET : readAt(schema, pointer, present);
    const state = compareSecret(secret, read, secretValue);
    if (state === null) continue;
    const top = pointer.split('/')[1] ?? '';
    if (state === 'unknown') undecided.add(top);
    else changed.add(top);
    fields.push({ path: shownPath(schema, pointer).join('.'), secret: state });
  }
  return { fields, changed, undecided };
}

const UNSET: ReadSecret = { state: 'unset' };

/** A readable secret reads as empty to a key without permission: only the server knows whether it is set. */
function readAt(schema: TObject, pointer: string, present: StoredForm): ReadSecret {
  const read = present.secrets.get(pointer) ?? UNSET;
  const isMaybeHidden = read.state === 'unset' && visibilityAt(schema, pointer.split('/').slice(1)) === 'readable';
  return isMaybeHidden ? { state: 'hidden', shown: '' } : read;
}

function visibilityAt(schema: TObject, [name = '', ...rest]: readonly string[]): SecretVisibility | undefined {
  const field = schema.properties[name];
  if (field === undefined) return undefined;
  return rest.length > 0 && isObjectSchema(field) ? visibilityAt(field, rest) : secretVisibility(field);
}

/** Field by field inside objects; lists and maps as a whole. */
function differences(
  field: TSchema,
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  path: readonly string[],
): readonly FieldChange[] {
  if (secretVisibility(field) !== undefined || isSame(before, after)) return [];
  if (isObjectSchema(field) && isJsonObject(after) && (before === undefined || isJsonObject(before))) {
    const open = { before: openValues(field, before ?? {}), after: openValues(field, after) };
    return [
      ...(isSame(open.before, open.after) ? [] : [{ path: path.join('.'), ...open }]),
      ...Object.entries(field.properties).flatMap(([name, inner]) =>
        differences(inner, before?.[name], after[name], [...path, fileFieldName(name, inner)]),
      ),
    ];
  }
  return [
    {
      path: path.join('.'),
      ...(before !== undefined && { before }),
      ...(after !== undefined && { after }),
    },
  ];
}

/** An absent field and an empty one are the same. */
function isSame(before: JsonValue | undefined, after: JsonValue | undefined): boolean {
  return isDeepStrictEqual(before ?? null, after ?? null);
}

function compareSecret(
  wanted: FileSecret,
  present: ReadSecret,
  secretValue: SecretValues,
): NonNullable<FieldChange['secret']> | null {
  if (isRemoval(wanted)) return present.state === 'unset' ? null : present.state === 'known' ? 'removed' : 'unknown';
  if (present.state === 'unset') return 'set';
  const value = valueOfSecret(wanted, secretValue);
  if (present.state === 'known') return isDeepStrictEqual(present.value, value) ? null : 'changed';
  if (isJsonObject(value) && isJsonObject(present.shown)) {
    const [own, others] = [Object.keys(value).sort(), Object.keys(present.shown).sort()];
    if (!isDeepStrictEqual(own, others)) return 'changed';
  }
  return 'unknown';
}

function isRemoval(secret: FileSecret): boolean {
  return secret === '' || (secret instanceof Map && secret.size === 0);
}

/** The value to send: a text, or a map of texts. */
export function valueOfSecret(secret: FileSecret, secretValue: SecretValues): JsonValue {
  if (secret === '') return '';
  if (!(secret instanceof Map)) return secretValue(secret as PlacedSecret);
  const entries = [...(secret as ReadonlyMap<string, PlacedSecret | ''>)];
  return Object.fromEntries(entries.map(([name, each]) => [name, each === '' ? '' : secretValue(each)]));
}
