import type { TObject, TSchema } from 'typebox';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import { referenceAnnotation } from '../../../kit/schema/annotations.ts';
import { isObjectSchema } from '../../../kit/schema/schema-facts.ts';
import { type ObjectKind, sectionOf, sections } from '../sections.ts';

/** `replace`: a field changes that cannot be changed, so that another object takes its place. */
type ChangeAction = 'add' | 'change' | 'replace' | 'remove';

export interface FieldChange {
  /** Dotted, with the names of the file. */
  readonly path: string;
  readonly before?: JsonValue;
  readonly after?: JsonValue;
  /** In place of values, which are never shown. `unknown`: the server does not tell. */
  readonly secret?: 'set' | 'changed' | 'removed' | 'unknown';
}

/** An object whose fields, modules or children change. */
export interface ObjectChange {
  readonly action: ChangeAction;
  readonly kind: ObjectKind;
  readonly name: string;
  readonly fields: readonly FieldChange[];
  readonly children: readonly ObjectChange[];
}

/** A write of the changeset. */
export interface PlannedOperation {
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: Readonly<Record<string, JsonValue>>;
  /** Fields that only the server can compare: the operation counts if it changes something. */
  readonly undecided?: { readonly object: ObjectChange; readonly isWhole: boolean };
}

interface Settled {
  readonly changes: readonly ObjectChange[];
  readonly operations: readonly PlannedOperation[];
}

/**
 * Decides about secrets that could not be compared, by what the server says each operation would change. Undefined: the
 * key may not know; the operation stays, and the server stores nothing if the secret is the same.
 */
export function settlePlan({ changes, operations }: Settled, hasChanged: readonly (boolean | undefined)[]): Settled {
  const same = new Set<ObjectChange>();
  const different = new Set<ObjectChange>();
  const kept = operations.filter(({ undecided }, index) => {
    if (undecided === undefined || hasChanged[index] === undefined) return true;
    (hasChanged[index] === true ? different : same).add(undecided.object);
    return hasChanged[index] === true;
  });
  return { changes: changes.flatMap((change) => settled(change, same, different)), operations: kept };
}

function settled(
  change: ObjectChange,
  same: ReadonlySet<ObjectChange>,
  different: ReadonlySet<ObjectChange>,
): readonly ObjectChange[] {
  const fields = change.fields.flatMap((field): readonly FieldChange[] => {
    if (field.secret !== 'unknown') return [field];
    if (same.has(change)) return [];
    return [different.has(change) ? { ...field, secret: 'changed' } : field];
  });
  const children = change.children.flatMap((child) => settled(child, same, different));
  const isNothing = change.action === 'change' && fields.length === 0 && children.length === 0;
  return isNothing ? [] : [{ ...change, fields, children }];
}

/** Whether something changes, as far as can be known. */
export function isChanging(changes: readonly ObjectChange[]): boolean {
  return changes.some(
    ({ action, fields, children }) =>
      action !== 'change' || fields.some(({ secret }) => secret !== 'unknown') || isChanging(children),
  );
}

/**
 * Sections with those first that others refer to, so that objects are created in the order of the file where possible.
 */
export function creationOrder(): readonly string[] {
  const order = new Set<string>();
  const visiting = new Set<string>();
  const visit = (key: string): void => {
    if (visiting.has(key)) return;
    visiting.add(key);
    const kinds = sections.find((section) => section.key === key)?.kinds ?? [];
    for (const kind of kinds.flatMap((each) => [...referredKinds(each)])) visit(sectionOf(kind) ?? '');
    order.add(key);
  };
  for (const { key } of sections) visit(key);
  return [...order];
}

function* referredKinds({ resource, modules, children }: ObjectKind): Iterable<string> {
  yield* kindsIn(resource.config);
  for (const module of modules) yield* kindsIn(module.config);
  for (const child of children.values()) yield* referredKinds(child);
}

function* kindsIn(schema: TObject): Iterable<string> {
  for (const field of Object.values(schema.properties)) {
    yield* referenceAnnotation(field)?.kinds ?? [];
    const { items } = field as { readonly items?: TSchema };
    if (isObjectSchema(field)) yield* kindsIn(field);
    else if (items !== undefined && isObjectSchema(items)) yield* kindsIn(items);
  }
}

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
