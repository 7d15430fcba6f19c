import type { TObject, TSchema } from 'typebox';
import type { JsonObject, JsonValue } from '../../kit/json.ts';
import { referenceAnnotation } from '../../kit/schema/annotations.ts';
import { isObjectSchema, secretVisibility } from '../../kit/schema/schema-facts.ts';
import { hasDefault } from '../../kit/schema/wire-forms.ts';
import { fileFieldName } from './file-form.ts';
import { FORMAT_VERSION, OWNER_PATTERN } from './format.ts';
import { impliedBy, keyFieldOf } from './object-names.ts';
import { type ObjectKind, sections } from './sections.ts';

const SECRET_TEXT = {
  type: 'string',
  pattern: '^(\\$\\{env:[A-Za-z_][A-Za-z0-9_]*\\}|\\$\\{file:[^{}]+\\})?$',
} as const;
const NAME = { type: 'string', minLength: 1 } as const;

/** A JSON Schema (draft 2020-12) of the file, for editors. */
export function configurationSchema(): JsonObject {
  const properties = Object.fromEntries(
    sections.map(({ key, kinds }) => {
      const [only] = kinds;
      const object =
        kinds.length === 1 && only !== undefined
          ? objectSchema(only, {})
          : { oneOf: kinds.map((kind) => objectSchema(kind, { kind: { const: kind.label } })) };
      return [key, { type: 'object', description: descriptionOf(kinds), additionalProperties: object }];
    }),
  );
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Configuration file of Postern',
    type: 'object',
    required: ['version'],
    properties: {
      version: { const: FORMAT_VERSION, description: 'Version of the format.' },
      owner: {
        type: 'string',
        pattern: OWNER_PATTERN,
        description: 'Who applies the files. The server remembers the objects of each owner, for "apply --prune".',
      },
      ...properties,
    },
    additionalProperties: false,
  };
}

function descriptionOf(kinds: readonly ObjectKind[]): string {
  return kinds.map(({ label, resource }) => (kinds.length > 1 ? `${label}: ` : '') + resource.description).join(' ');
}

function objectSchema(kind: ObjectKind, before: JsonObject): JsonObject {
  const { resource, modules, children } = kind;
  const parentField = resource.parent !== undefined && 'field' in resource.parent ? resource.parent.field : null;
  const implied = new Set([keyFieldOf(kind), ...Object.keys(impliedBy(kind, 'name', {}))]);
  const own = fieldsSchema(resource.config, (name) => name === parentField, implied);
  const inline = modules.map((module): [string, JsonValue] => [
    module.name,
    { ...fieldsSchema(module.config), description: module.description },
  ]);
  const nested = [...children].map(([field, child]): [string, JsonValue] => [
    field,
    { type: 'object', description: child.resource.description, additionalProperties: objectSchema(child, {}) },
  ]);
  const properties = { ...before, ...(own['properties'] as JsonObject), ...Object.fromEntries([...inline, ...nested]) };
  const required = [...Object.keys(before), ...(own['required'] as string[])];
  // An object without fields may be left empty.
  return { ...own, properties, required, type: required.length === 0 ? ['object', 'null'] : 'object' };
}

function fieldsSchema(
  schema: TObject,
  isLeftOut: (name: string) => boolean = () => false,
  implied: ReadonlySet<string> = new Set(),
): JsonObject {
  const fields = Object.entries(schema.properties).filter(([name]) => !isLeftOut(name));
  const optional = new Set(Object.keys(schema.properties).filter((name) => !(schema.required ?? []).includes(name)));
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map(([name, field]) => [fileFieldName(name, field), fieldSchema(field)])),
    required: fields
      .filter(([name, field]) => !hasDefault(field) && !optional.has(name) && !implied.has(name))
      .map(([name, field]) => fileFieldName(name, field)),
    additionalProperties: false,
  };
}

function fieldSchema(field: TSchema): JsonObject {
  const { description = '', items } = field as { readonly description?: string; readonly items?: TSchema };
  if (secretVisibility(field) !== undefined) {
    const isMap = 'patternProperties' in field;
    return { ...(isMap ? { type: 'object', additionalProperties: SECRET_TEXT } : SECRET_TEXT), description };
  }
  const annotation = referenceAnnotation(field);
  if (annotation !== undefined) {
    const { patternProperties, type } = field as { readonly patternProperties?: JsonObject; readonly type?: string };
    const named = description
      .replace(/^(An? )?[Ii]ds? of/, 'Name of')
      .replace(/ of backend id to/, ' of backend name to');
    if (annotation.inKeys === true) {
      const [value = {}] = Object.values(patternProperties ?? {});
      return { type: 'object', additionalProperties: value, description: named };
    }
    return type === 'array' ? { type, items: NAME, description: named } : { ...NAME, minLength: 0, description: named };
  }
  if (isObjectSchema(field)) {
    const inner = fieldsSchema(field);
    return { ...inner, ...(hasDefault(field) && { type: ['object', 'null'] }), description };
  }
  if (items !== undefined && isObjectSchema(items)) return { ...plain(field), items: fieldSchema(items) };
  return plain(field);
}

/** Without the keywords of this program, which editors do not know. */
function plain(field: TSchema): JsonObject {
  return Object.fromEntries(
    Object.entries(JSON.parse(JSON.stringify(field)) as JsonObject).filter(([keyword]) => !keyword.startsWith('x-')),
  );
}
