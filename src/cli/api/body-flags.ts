import type { TObject, TSchema } from 'typebox';
import type { FlagKind } from '../../lib/flags.ts';
import { isObjectSchema, isOpenSchema, itemsWithSecrets, secretVisibility } from '../../lib/schema/schema-facts.ts';
import type { ApiFlag } from './flag.ts';
import { kebab } from './resource-names.ts';

interface FieldShape {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly description?: string;
  readonly items?: TSchema;
  readonly anyOf?: readonly TSchema[];
  readonly patternProperties?: Readonly<Record<string, TSchema>>;
}

/** One flag per field; fields of an object also individually, with dots: `--tls.enabled`. */
export function bodyFlags(schema: TObject, path: readonly string[] = []): readonly ApiFlag[] {
  const required = ('required' in schema ? schema.required : []) as readonly string[];
  return Object.entries(schema.properties).flatMap(([name, written]) => {
    const field = withoutNull(written);
    const own = bodyFlag(field, [...path, name], path.length === 0 && required.includes(name));
    return isObjectSchema(field) ? [own, ...bodyFlags(field, [...path, name])] : [own];
  });
}

/** A value or null, which counts as absent, has a flag for the value. */
function withoutNull(field: TSchema): TSchema {
  const { anyOf: options = [], description } = field as FieldShape;
  const [only, ...others] = options.filter((option) => (option as FieldShape).type !== 'null');
  if (only === undefined || others.length > 0 || options.length === 1) return field;
  return { ...only, ...(description !== undefined && { description }) };
}

function bodyFlag(field: TSchema, path: readonly string[], isRequired: boolean): ApiFlag {
  const shape = field as FieldShape;
  const kind = kindOf(field);
  return {
    name: path.map(kebab).join('.'),
    kind,
    description: shape.description ?? '',
    hint: shape.enum?.join('|') ?? hintOf(kind, field),
    target: { in: 'body', path },
    isRequired,
    isSecret: secretVisibility(field) !== undefined || itemsWithSecrets(field) !== null,
    schema: field,
    ...(shape.enum !== undefined && { choices: shape.enum }),
  };
}

function kindOf(field: TSchema): FlagKind {
  const { type, enum: choices, patternProperties } = field as FieldShape;
  if (choices !== undefined || type === 'string') return 'text';
  if (type === 'boolean') return 'switch';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'array') return 'list';
  if (patternProperties !== undefined || (isObjectSchema(field) && isOpenSchema(field))) return 'map';
  return type === 'object' ? 'object' : 'json';
}

function hintOf(kind: FlagKind, field: TSchema): string {
  switch (kind) {
    case 'switch':
      return '';
    case 'number':
      return 'NUMBER';
    case 'list':
      return isObjectList(field) ? 'JSON' : `${soleTextField(field)?.toUpperCase() ?? 'TEXT'},…`;
    case 'map':
      return 'NAME=VALUE,…';
    case 'object':
    case 'json':
      return 'JSON';
    case 'text':
    case 'repeated':
      return 'TEXT';
  }
}

/** A list of objects that no list of texts can express. */
export function isObjectList(list: TSchema): boolean {
  const { items } = list as FieldShape;
  return items !== undefined && isObjectSchema(items) && soleTextField(list) === null;
}

/** A list of objects that need one text each may be written as a list of these texts: `--sources ip_policy_created.v0`. */
export function soleTextField(list: TSchema): string | null {
  const { items } = list as FieldShape;
  if (items === undefined || !isObjectSchema(items) || itemsWithSecrets(list) !== null) return null;
  const required = ('required' in items ? items.required : []) as readonly string[];
  const [only] = required;
  return required.length === 1 && only !== undefined && kindOf(items.properties[only] as TSchema) === 'text'
    ? only
    : null;
}
