import { isDeepStrictEqual } from 'node:util';
import type { TObject, TSchema } from 'typebox';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import { secretSentTo } from '../../../kit/schema/annotations.ts';
import { pointerTo } from '../../../kit/schema/field-problem.ts';
import {
  isObjectSchema,
  itemsWithSecrets,
  openValues,
  type SecretVisibility,
  secretVisibility,
} from '../../../kit/schema/schema-facts.ts';
import { defaultOf, hasDefault } from '../../../kit/schema/wire-forms.ts';
import { SECRET_FORMS } from '../../../kit/secret-reference.ts';
import type { Module } from '../../../modules/contract/module.ts';
import { fileFieldName } from '../file-form.ts';
import type { FileConfig, FileObject } from '../file-object.ts';
import { impliedBy } from '../object-names.ts';
import type { ReadSecret, StoredForm } from '../stored-form.ts';
import { type FileSecret, type PlacedSecret, shownPath } from '../wire-body.ts';
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
function valueOfSecret(secret: FileSecret, secretValue: SecretValues): JsonValue {
  if (secret === '') return '';
  if (!(secret instanceof Map)) return secretValue(secret as PlacedSecret);
  const entries = [...(secret as ReadonlyMap<string, PlacedSecret | ''>)];
  return Object.fromEntries(entries.map(([name, each]) => [name, each === '' ? '' : secretValue(each)]));
}

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

/**
 * A secret that the files do not name stays as it is: one that could be read is sent back. `redirectedSecrets` has
 * rejected new destinations.
 */
function secretAt(pointer: string, { wanted, present, secretValue }: Sources): JsonValue | undefined {
  const secret = wanted.secrets.get(pointer);
  if (secret !== undefined) return valueOfSecret(secret, secretValue);
  const known = present?.get(pointer);
  return known?.state === 'known' ? known.value : undefined;
}

function isDefault(field: TSchema, value: JsonValue): boolean {
  return value === null || (hasDefault(field) && isDeepStrictEqual(value, defaultOf(field)));
}

/** The fields of a new object that differ from their defaults. */
export function shownFields(file: FileObject): readonly FieldChange[] {
  const { resource, modules } = file.kind;
  const implied = impliedBy(file.kind, file.name, file.config);
  // The name says it.
  const own = fieldsOf(resource.config, file, []).filter(
    ({ path, after }) => !isDeepStrictEqual(after, implied[path] ?? null),
  );
  const inModules = modules.flatMap((module) => {
    const config = file.modules.get(module.name);
    return config === undefined ? [] : moduleFields(module, config);
  });
  return [...own, ...inModules];
}

/** The same for a module. */
export function moduleFields(module: Module, config: FileConfig): readonly FieldChange[] {
  const fields = fieldsOf(module.config, config, [module.name]);
  return fields.length === 0 ? [{ path: module.name, after: {} }] : fields;
}

function fieldsOf(schema: TObject, { config, secrets }: FileConfig, path: readonly string[]): readonly FieldChange[] {
  const set = [...secrets].filter(([, secret]) => secret !== '');
  return [
    ...valuesOf(schema, config, path),
    ...set.map(
      ([pointer]): FieldChange => ({ path: [...path, ...shownPath(schema, pointer)].join('.'), secret: 'set' }),
    ),
  ];
}

function valuesOf(schema: TObject, config: JsonObject, path: readonly string[]): readonly FieldChange[] {
  return Object.entries(schema.properties).flatMap(([name, field]): readonly FieldChange[] => {
    const value: JsonValue | undefined = config[name];
    if (value === undefined || value === null || secretVisibility(field) !== undefined) return [];
    const inner = [...path, fileFieldName(name, field)];
    if (isObjectSchema(field) && isJsonObject(value)) {
      const open = openValues(field, value);
      const shown = Object.keys(open).length === 0 ? [] : [{ path: inner.join('.'), after: open }];
      return [...shown, ...valuesOf(field, value, inner)];
    }
    const isImplied = hasDefault(field) && isDeepStrictEqual(value, defaultOf(field));
    return isImplied ? [] : [{ path: inner.join('.'), after: value }];
  });
}

/**
 * Problems of secrets that the files do not give while their destination changes. The server rejects this for secrets
 * that the key cannot read (`keepUnseenSecrets`). A plan must not send back one that it could read: otherwise who
 * writes the files has a secret sent to a server of their own.
 */
export function redirectedSecrets(
  schema: TObject,
  wanted: WantedForm,
  present: StoredForm,
  within: readonly string[] = [],
): readonly string[] {
  return redirected(schema, { wanted, before: present.config, after: wanted.config, present, at: '' }).map(
    ({ pointer, destination }) => {
      const [field, changed] = [pointer, destination].map((each) => [...within, ...shownPath(schema, each)].join('.'));
      return `${field} must be given again, because ${changed} changes and the secret would be sent there: write ${SECRET_FORMS} and provide the value, or "" for none`;
    },
  );
}

interface Level {
  readonly wanted: WantedForm;
  readonly present: StoredForm;
  readonly before: JsonObject;
  readonly after: JsonObject;
  readonly at: string;
}

interface Redirected {
  readonly pointer: string;
  readonly destination: string;
}

function redirected(schema: TObject, level: Level): readonly Redirected[] {
  const { wanted, present, before, after, at } = level;
  return Object.entries(schema.properties).flatMap(([name, field]): readonly Redirected[] => {
    const pointer = pointerTo(at, name);
    if (secretVisibility(field) === undefined) {
      const [inner, next] = [before[name], after[name]];
      if (!isObjectSchema(field) || !isJsonObject(inner) || !isJsonObject(next)) return [];
      return redirected(field, { ...level, before: inner, after: next, at: pointer });
    }
    const sentTo = secretSentTo(field);
    if (typeof sentTo !== 'object' || wanted.secrets.has(pointer)) return [];
    const isSet = (present.secrets.get(pointer)?.state ?? 'unset') !== 'unset';
    const isMoved = before[sentTo.field] !== after[sentTo.field];
    return isSet && isMoved ? [{ pointer, destination: pointerTo(at, sentTo.field) }] : [];
  });
}
