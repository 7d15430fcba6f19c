import type { TObject, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';
import { referenceAnnotation } from './annotations.ts';
import { clipped, describeProblems, type SchemaError } from './describe-problems.ts';
import { type FieldProblem, pointerTo } from './field-problem.ts';
import { isObjectSchema, SECRET_MASK, secretVisibility } from './schema-facts.ts';
import { createForm, defaultOf, hasDefault, patchForm } from './wire-forms.ts';
import { completed, completedField } from './with-defaults.ts';

/** A body of 1 MB can contain 90,000, and describing each took a second. */
const MAX_UNKNOWN_FIELDS = 20;

export type Decoded =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] };

export interface BodyDecoder {
  readonly form: TObject;
  decode(body: JsonObject): Decoded;
}

/**
 * Decodes the body of POST and PUT into the stored form: every field present, defaults filled in. `decodedApart` names
 * fields that the body may contain and other code decodes: messages about unknown fields list them.
 */
export function createDecoder(stored: TObject, decodedApart: readonly string[] = []): BodyDecoder {
  const form = createForm(stored);
  const rejectsEmpty = emptyRejections(form);
  const isLeftOut = (name: string, value: JsonValue): boolean =>
    hasDefault(fieldOf(stored, name) ?? {}) && rejectsEmpty(name, value);
  return decoder(
    form,
    (body) => without(leaveOutUnset(stored, body, 'drop'), isLeftOut),
    (value) => completed(stored, value),
    decodedApart,
  );
}

/**
 * Decodes the body of PATCH: only the fields that it names; `""` resets a field where that is its unset value. An empty
 * value that the field cannot have counts as absent: the Python client sends one for every argument that was not given.
 */
export function patchDecoder(
  stored: TObject,
  immutable: readonly string[],
  decodedApart: readonly string[] = [],
): BodyDecoder {
  const form = patchForm(stored, immutable);
  const resets = (body: JsonObject): string[] =>
    Object.keys(form.properties).filter((name) => body[name] === '' && isUnsetText(stored.properties[name]));
  const rejectsEmpty = emptyRejections(form);
  const isImmutableAndEmpty = (name: string, value: JsonValue): boolean => immutable.includes(name) && isEmpty(value);
  const checker = decoder(
    form,
    (body) =>
      without(
        omit(leaveOutUnset(stored, body, 'keep'), resets(body)),
        (name, value) => rejectsEmpty(name, value) || isImmutableAndEmpty(name, value),
      ),
    (value) => value,
    decodedApart,
  );
  return {
    form,
    decode: (body) => {
      const decoded = checker.decode(body);
      if (!decoded.ok) return decoded;
      const unset = Object.fromEntries(resets(body).map((name) => [name, '']));
      const named = Object.entries(decoded.value).map(([name, value]) => [
        name,
        completedField(fieldOf(stored, name), value),
      ]);
      return { ok: true, value: { ...Object.fromEntries(named), ...unset } };
    },
  };
}

function decoder(
  form: TObject,
  prepare: (body: JsonObject) => JsonObject,
  finish: (value: JsonObject) => JsonObject,
  decodedApart: readonly string[],
): BodyDecoder {
  // For the first body: a server gets none of most kinds, and compiling all forms took a third of the API's start.
  let validator: ReturnType<typeof Compile<TObject>> | undefined;
  const compiled = () => (validator ??= Compile(form));
  const problemsOf = (body: JsonObject): readonly FieldProblem[] => {
    // The validator visits the whole body for its few findings, at 4 µs per value: a clipped body already yields them.
    const { body: start, isWhole } = clipped(body);
    const found: readonly SchemaError[] = compiled().Errors(start);
    if (found.length > 0) return describeProblems(form, found, decodedApart);
    return isWhole ? describeProblems(form, compiled().Errors(body), decodedApart) : farBehind(form, body);
  };
  return {
    form,
    decode: (body) => {
      const prepared = prepare(body);
      if (compiled().Check(prepared)) return { ok: true, value: finish(prepared) };
      return { ok: false, problems: problemsOf(prepared) };
    },
  };
}

/** A problem beyond the values that can be described without holding up others: in a list, its first invalid item. */
function farBehind(form: TObject, body: JsonObject): readonly FieldProblem[] {
  const isInvalid = (schema: TSchema, value: JsonValue): boolean => !Compile(schema).Check(value);
  const found = Object.entries(form.properties).find(
    ([name, schema]) => Object.hasOwn(body, name) && isInvalid(schema, body[name] as JsonValue),
  );
  const message =
    'has a value that is not valid, behind its first thousands of values: send fewer at a time to find it';
  if (found === undefined) return [{ path: '', message }];
  const [name, field] = found;
  const [list, { items }] = [body[name], field as { items?: TSchema }];
  if (!Array.isArray(list) || items === undefined || !isObjectSchema(items)) return [bodyProblem(name, message)];
  const checker = Compile(items);
  const at = list.findIndex((item) => !checker.Check(item));
  const item = list[at];
  if (item === undefined || !isJsonObject(item)) return [bodyProblem(name, message)];
  const { body: start } = clipped(item);
  return describeProblems(items, checker.Errors(start), []).map((problem) => ({
    ...problem,
    path: `${pointerTo(pointerTo('', name), String(at))}${problem.path}`,
  }));
}

/**
 * `null` counts as absent, and so do `""` where it is the unset value and the mask of a secret. A Ref may replace an
 * id. So a client can send back exactly what it received.
 */
function leaveOutUnset(stored: TObject, body: JsonObject, emptyText: 'drop' | 'keep'): JsonObject {
  // A Map: assigning to `__proto__` of an object would hide the field and its content from validation.
  const result = new Map<string, JsonValue>();
  let unknown = 0;
  // Names alone: pairs of 100,000 fields would take twice as long.
  for (const name of Object.keys(body)) {
    const value = body[name] as JsonValue;
    if (value === null) continue;
    const field = fieldOf(stored, name);
    if (field === undefined) {
      // Validation rejects the body for the first of them.
      if (unknown === MAX_UNKNOWN_FIELDS) continue;
      const target = idFieldReadAs(stored, name);
      const ids = target === undefined ? undefined : idsOf(value);
      // If both forms are sent they must agree; otherwise the unknown name is left for validation to reject.
      if (target !== undefined && ids !== undefined && agrees(body[target], ids)) result.set(target, ids);
      else {
        result.set(name, value);
        unknown += 1;
      }
      continue;
    }
    if (value === '' && emptyText === 'drop' && isUnsetText(field)) continue;
    if (value === SECRET_MASK && secretVisibility(field) === 'masked') continue;
    result.set(
      name,
      isObjectSchema(field) && isJsonObject(value) ? leaveOutUnset(field, value, 'drop') : inItems(field, value),
    );
  }
  return Object.fromEntries(result);
}

/** `null` counts as absent in the objects of a list too. They are stored as they were sent: nothing else is dropped. */
function inItems(field: TSchema, value: JsonValue): JsonValue {
  const { items, maxItems = Number.POSITIVE_INFINITY } = field as { items?: TSchema; maxItems?: number };
  if (items === undefined || !isObjectSchema(items) || !Array.isArray(value)) return value;
  // Validation rejects it for its length.
  if (value.length > maxItems) return value;
  return value.map((item: JsonValue) => (isJsonObject(item) ? withoutNulls(items, item) : item));
}

function withoutNulls(schema: TObject, object: JsonObject): JsonObject {
  const entries = Object.entries(object).filter(([, value]) => value !== null);
  return Object.fromEntries(
    entries.map(([name, value]) => {
      const field = fieldOf(schema, name);
      if (field === undefined) return [name, value];
      return [name, isObjectSchema(field) && isJsonObject(value) ? withoutNulls(field, value) : inItems(field, value)];
    }),
  );
}

/** Excludes what a schema inherits from Object, such as `toString`. */
function fieldOf(schema: TObject, name: string): TSchema | undefined {
  return Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
}

function idFieldReadAs(stored: TObject, readName: string): string | undefined {
  return Object.keys(stored.properties).find(
    (name) => referenceAnnotation(stored.properties[name] as TSchema)?.readAs === readName,
  );
}

function idsOf(value: JsonValue): JsonValue | undefined {
  if (Array.isArray(value)) {
    const ids = value.map(idOfRef);
    return ids.every((id) => id !== undefined) ? (ids as string[]) : undefined;
  }
  return idOfRef(value);
}

function idOfRef(value: JsonValue): string | undefined {
  if (!isJsonObject(value) || typeof value['id'] !== 'string') return undefined;
  return Object.keys(value).every((key) => key === 'id' || key === 'uri') ? value['id'] : undefined;
}

function agrees(sent: JsonValue | undefined, ids: JsonValue): boolean {
  return sent === undefined || sent === null || JSON.stringify(sent) === JSON.stringify(ids);
}

/** Whether a value is empty and its field cannot be: then nobody can have meant it. */
function emptyRejections(form: TObject): (name: string, value: JsonValue) => boolean {
  const checks = new Map<string, { Check(value: unknown): boolean }>();
  return (name, value) => {
    if (!isEmpty(value) || !Object.hasOwn(form.properties, name)) return false;
    // An empty value of another type is a mistake.
    if (typeOf(value) !== ((form.properties[name] as { type?: string }).type ?? 'string')) return false;
    const check = checks.get(name) ?? Compile(form.properties[name] as TSchema);
    checks.set(name, check);
    return !check.Check(value);
  };
}

export function isEmpty(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return value === '' || (isJsonObject(value) && Object.keys(value).length === 0);
}

function typeOf(value: JsonValue): string {
  return Array.isArray(value) ? 'array' : typeof value;
}

function without(body: JsonObject, isLeftOut: (name: string, value: JsonValue) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(body).filter(([name, value]) => !isLeftOut(name, value)));
}

function isUnsetText(field: TSchema | undefined): boolean {
  return field !== undefined && defaultOf(field) === '';
}

function omit(body: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)));
}

export function bodyProblem(name: string, message: string): FieldProblem {
  return { path: pointerTo('', name), message };
}
