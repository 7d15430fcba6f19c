import Type, { type TObject, type TProperties, type TSchema } from 'typebox';
import { referenceAnnotation, refSchema } from './annotations.ts';
import { isObjectSchema, isOpenSchema, secretVisibility } from './schema-facts.ts';

/**
 * A resource or module is described once, by the schema of its stored form: every field present, defaults as `default`.
 * The three wire forms are derived from it here.
 */

export function hasDefault(schema: TSchema): boolean {
  return 'default' in schema;
}

export function defaultOf(schema: TSchema): unknown {
  return (schema as { default?: unknown }).default;
}

/** A default of `undefined`: the field is stored and shown only if it was sent. */
export function isShownOnlyIfSet(schema: TSchema): boolean {
  return hasDefault(schema) && defaultOf(schema) === undefined;
}

/** Body of POST and PUT: a field with a default may be omitted, an unknown one is rejected. */
export function createForm(stored: TObject): TObject {
  return mapObject(stored, (field) =>
    hasDefault(field) ? Type.Optional(nestedCreateForm(field)) : nestedCreateForm(field),
  );
}

/** Body of PATCH: any subset of the fields that can change. */
export function patchForm(stored: TObject, immutable: readonly string[]): TObject {
  const changeable = Object.entries(stored.properties).filter(([name]) => !immutable.includes(name));
  const patchable = changeable.map(([name, field]) => [name, Type.Optional(withoutDefault(nestedCreateForm(field)))]);
  return Type.Object(Object.fromEntries(patchable) as TProperties, { additionalProperties: false });
}

/** Body of responses: every field, ids of other resources as Refs, write-only secrets omitted. */
export function readForm(stored: TObject): TObject {
  const properties: TProperties = {};
  for (const [name, field] of Object.entries(stored.properties)) {
    if (secretVisibility(field) === 'write_only') continue;
    const annotation = referenceAnnotation(field);
    if (annotation?.readAs === undefined) {
      const form = isObjectSchema(field) ? readFormOfObject(field) : withoutWriteRules(field);
      properties[name] = isShownOnlyIfSet(field) ? Type.Optional(form) : form;
    } else {
      properties[annotation.readAs] = readFormOfReference(field);
    }
  }
  const openTo = otherValues(stored);
  return Type.Object(properties, {
    ...described(stored),
    ...(openTo !== null && { additionalProperties: withoutWriteRules(openTo) }),
  });
}

function readFormOfObject(field: TObject): TSchema {
  return defaultOf(field) === null ? Type.Union([readForm(field), Type.Null()], described(field)) : readForm(field);
}

function readFormOfReference(field: TSchema): TSchema {
  const description = (field as { description?: string }).description ?? '';
  if ((field as { type?: unknown }).type === 'array') return Type.Array(refSchema, { description });
  const single = { ...refSchema, description };
  return hasDefault(field) ? Type.Union([single, Type.Null()], { description }) : single;
}

function nestedCreateForm(field: TSchema): TSchema {
  const items = itemsWithDefaults(field);
  if (items !== null) return { ...field, items: createForm(items) } as TSchema;
  if (!isObjectSchema(field)) return field;
  const form = createForm(field);
  return hasDefault(field) ? { ...form, default: defaultOf(field) } : form;
}

/** The schema of a list's objects, if some of their fields may be omitted. */
export function itemsWithDefaults(field: TSchema): TObject | null {
  const { items } = field as { readonly items?: TSchema };
  if (items === undefined || !isObjectSchema(items)) return null;
  return Object.values(items.properties).some(hasDefault) ? items : null;
}

function mapObject(schema: TObject, change: (field: TSchema) => TSchema): TObject {
  const properties: TProperties = {};
  for (const [name, field] of Object.entries(schema.properties)) properties[name] = change(field);
  const openTo = otherValues(schema);
  const { maxProperties } = schema as { readonly maxProperties?: number };
  return Type.Object(properties, {
    ...described(schema),
    ...(maxProperties !== undefined && { maxProperties }),
    additionalProperties: openTo ?? false,
  });
}

/** Schema of the values under other names than those of the object; null: there are none. */
function otherValues(schema: TObject): TSchema | null {
  return isOpenSchema(schema) ? ((schema as { additionalProperties?: unknown }).additionalProperties as TSchema) : null;
}

function described(schema: TSchema): { description?: string } {
  const description = (schema as { description?: string }).description;
  return description === undefined ? {} : { description };
}

function withoutDefault(schema: TSchema): TSchema {
  return without(schema, ['default']);
}

/** Rules for input do not hold for output: an unset field reads back as `""`, a secret as a mask. */
function withoutWriteRules(schema: TSchema): TSchema {
  return without(schema, [
    'default',
    'pattern',
    'minLength',
    'maxLength',
    'minItems',
    'maxItems',
    'minProperties',
    'maxProperties',
  ]);
}

function without(schema: TSchema, keywords: readonly string[]): TSchema {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !keywords.includes(keyword))) as TSchema;
}
