import type { TObject, TSchema } from 'typebox';
import { type Flag, type FlagKind, usage } from '../../../kit/flags.ts';
import { DoubledNameError, type JsonValue, parseUniqueJson } from '../../../kit/json.ts';
import { isObjectSchema, isOpenSchema, itemsWithSecrets, secretVisibility } from '../../../kit/schema/schema-facts.ts';
import { kebab } from './api-resources.ts';
import type { TextSource } from './text-source.ts';

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
function isObjectList(list: TSchema): boolean {
  const { items } = list as FieldShape;
  return items !== undefined && isObjectSchema(items) && soleTextField(list) === null;
}

/**
 * A list of objects that need one text each may be written as a list of these texts: `--sources ip_policy_created.v0`.
 */
function soleTextField(list: TSchema): string | null {
  const { items } = list as FieldShape;
  if (items === undefined || !isObjectSchema(items) || itemsWithSecrets(list) !== null) return null;
  const required = ('required' in items ? items.required : []) as readonly string[];
  const [only] = required;
  return required.length === 1 && only !== undefined && kindOf(items.properties[only] as TSchema) === 'text'
    ? only
    : null;
}

/** A flag of `postern api RESOURCE VERB`. */
export interface ApiFlag extends Flag {
  readonly target: FlagTarget;
  readonly schema?: TSchema;
}

type FlagTarget =
  | { readonly in: 'path'; readonly name: string }
  | { readonly in: 'query'; readonly name: string }
  | { readonly in: 'body'; readonly path: readonly string[] }
  /** For the command itself. */
  | { readonly in: 'command' };

/** Parsed as JSON when it looks like JSON, whatever the field's own short form. */
function canBeJson({ kind }: ApiFlag): boolean {
  return kind === 'list' || kind === 'map' || kind === 'object' || kind === 'json';
}

/** Converts a flag's text to the API's type. The API validates the value itself. */
export async function flagValue(flag: ApiFlag, given: readonly string[], source: TextSource): Promise<JsonValue> {
  const texts = await Promise.all(given.map((text) => source.expand(text, flag.name)));
  const [first = ''] = texts;
  if (canBeJson(flag) && !isObjectList(flag.schema as TSchema) && texts.length === 1 && /^\s*[[{]/.test(first))
    return parseJson(flag, first);
  switch (flag.kind) {
    case 'text':
    case 'repeated':
      return first;
    case 'switch':
      return first === 'true';
    case 'number':
      return numberOf(flag, first);
    case 'list':
      return isObjectList(flag.schema as TSchema) ? objectsOf(flag, texts) : listOf(flag, texts);
    case 'map':
      return mapOf(flag, texts);
    case 'object':
    case 'json':
      return parseJson(flag, first);
  }
}

function numberOf(flag: ApiFlag, text: string): number {
  if (!/^-?\d+(\.\d+)?$/.test(text)) throw usage(`--${flag.name} takes a number`);
  return Number(text);
}

/** An empty text is an empty list: `--hostports=` removes all. */
function listOf(flag: ApiFlag, texts: readonly string[]): JsonValue {
  const items = texts.flatMap((text) => text.split(/[,\n]/)).map((item) => item.trim());
  const present = items.filter((item) => item !== '');
  const field = soleTextField(flag.schema as TSchema);
  return field === null ? present : present.map((item) => ({ [field]: item }));
}

/** Each text is a JSON object or a list of them. Rules of several fields are easier to write in a file. */
function objectsOf(flag: ApiFlag, texts: readonly string[]): JsonValue {
  return texts.flatMap((text) => {
    if (text.trim() === '') return [];
    if (!/^\s*[[{]/.test(text)) {
      throw usage(`--${flag.name} takes JSON objects, such as '[{…}]': write them to a file, and use --from-file FILE`);
    }
    return parseJson(flag, text);
  });
}

function mapOf(flag: ApiFlag, texts: readonly string[]): JsonValue {
  const { patternProperties = {} } = flag.schema as { patternProperties?: Readonly<Record<string, TSchema>> };
  const isNumeric = (Object.values(patternProperties)[0] as { type?: string } | undefined)?.type === 'integer';
  // A comma separates only before the next `name=`: header values contain commas themselves.
  const pairs = texts.flatMap((text) => text.split(/[,\n](?=\s*[^\s,=]+=)/)).filter((pair) => pair.trim() !== '');
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at <= 0)
        throw usage(`--${flag.name} takes NAME=VALUE pairs, repeated or separated by commas, or a JSON object`);
      const value = pair.slice(at + 1);
      return [pair.slice(0, at).trim(), isNumeric ? numberOf(flag, value.trim()) : value];
    }),
  );
}

export function parseJson(flag: Pick<ApiFlag, 'name'>, text: string): JsonValue {
  try {
    return parseUniqueJson(text) as JsonValue;
  } catch (error) {
    if (error instanceof DoubledNameError) throw usage(`--${flag.name}: ${error.message}`);
    throw usage(
      `--${flag.name} takes JSON, and the value is not valid JSON: check the quotes of your shell. A text needs quotes of its own, such as '"5m"'`,
    );
  }
}
