import type { TSchema } from 'typebox';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import { ANY_NAME, refSchema } from '../../../kit/schema/annotations.ts';
import { fieldSetBy, schemaSetBy } from '../../../kit/schema/body-fields.ts';
import { UNSET_MODULE } from '../../documents/operations.ts';
import { ROWS_DESCRIPTION } from '../../resources/live-operations.ts';
import type { Operation } from '../../resources/operation.ts';
import { type Subject, subjectOf } from './subjects.ts';

/**
 * A validating schema as plain JSON, in the form that OpenAPI tools support best: maps become `additionalProperties`,
 * and enumerations state their type. openapi-generator 7.25 makes programs that do not compile of a field that is
 * always null, of unions of lists and other values, and of defaults that are objects: the document has none of them.
 */
export function wireSchema(schema: TSchema): JsonObject {
  return spelled(JSON.parse(JSON.stringify(schema)) as JsonObject);
}

function spelled(schema: JsonObject): JsonObject {
  if (schema['type'] === 'null') return { ...schema, type: ['string', 'null'] };
  if (isListOrOther(schema)) return spelledListOrOther(schema);
  const nullable = nullableScalar(schema);
  if (nullable !== null) return spelled(nullable);
  const result: Record<string, JsonValue> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'properties') result[keyword] = eachOf(value as JsonObject);
    else if (keyword === 'patternProperties') Object.assign(result, spelledMap(value as JsonObject));
    else if (keyword === 'anyOf') result[keyword] = (value as readonly JsonObject[]).map(spelledOption);
    else if (keyword === 'allOf') result[keyword] = (value as readonly JsonObject[]).map(spelled);
    // The example of the whole object, or of the request, has one of every field. Secrets go where the server sends
    // them.
    else if (keyword === 'examples' || keyword === 'x-sent-to') continue;
    else if (keyword === 'items' || keyword === 'additionalProperties') result[keyword] = spelledNested(value);
    else if (keyword === 'enum') Object.assign(result, spelledEnum(value as readonly JsonValue[]));
    else if (keyword !== 'default' || isMeantDefault(schema, value)) result[keyword] = value;
  }
  return result;
}

/** Beside other types, null is one of them. The union's description is the one of the field. */
function spelledOption(described: JsonObject): JsonObject {
  const option = Object.fromEntries(Object.entries(described).filter(([keyword]) => keyword !== 'description'));
  return option['type'] === 'null' ? option : spelled(option);
}

const SCALARS: readonly JsonValue[] = ['string', 'integer', 'number', 'boolean'];

/** A scalar or null as one type list. An enumeration would have to name null as well: it stays a union. */
function nullableScalar({ anyOf: options, ...rest }: JsonObject): JsonObject | null {
  if (!Array.isArray(options) || options.length !== 2) return null;
  const [{ type, ...scalar }, other] = options as unknown as readonly [JsonObject, JsonObject];
  if (other['type'] !== 'null' || type === undefined || !SCALARS.includes(type)) return null;
  if ('enum' in scalar || 'const' in scalar) return null;
  return { type: [type, 'null'], ...scalar, ...rest };
}

function isListOrOther({ anyOf: options }: JsonObject): boolean {
  if (!Array.isArray(options)) return false;
  const types = new Set((options as readonly JsonObject[]).map(({ type }) => type).filter((type) => type !== 'null'));
  return types.has('array') && types.size > 1;
}

/** A value or a list of such values is documented as the list; any other mixture as any value. */
function spelledListOrOther({ anyOf: options, ...rest }: JsonObject): JsonObject {
  const list = (options as readonly JsonObject[]).find(({ type }) => type === 'array') as JsonObject;
  const isAlsoAlone = (options as readonly JsonObject[]).every(
    (option) => option === list || canonicalJson(option) === canonicalJson(list['items'] ?? null),
  );
  return isAlsoAlone ? spelled({ ...list, ...rest }) : rest;
}

function eachOf(properties: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, spelled(field as JsonObject)]));
}

function spelledNested(value: JsonValue): JsonValue {
  return isJsonObject(value) ? spelled(value) : value;
}

function spelledMap(patterns: JsonObject): JsonObject {
  const [only] = Object.entries(patterns);
  return Object.keys(patterns).length === 1 && only?.[0] === ANY_NAME
    ? { additionalProperties: spelled(only[1] as JsonObject) }
    : { patternProperties: eachOf(patterns) };
}

function spelledEnum(values: readonly JsonValue[]): JsonObject {
  if (values.every((value) => typeof value === 'string')) return { type: 'string', enum: values };
  return { ...(values.every(Number.isInteger) && { type: 'integer' }), enum: values as JsonValue };
}

/** Null, or `""` where the field's own pattern rejects it, means "unset": as a documented default it would mislead. */
function isMeantDefault(schema: JsonObject, value: JsonValue): boolean {
  return value !== null && !isJsonObject(value) && !(value === '' && schema['pattern'] !== undefined);
}

interface SchemaOptions {
  readonly isReusable: boolean;
  readonly description?: string;
  /** Required fields that are absent in some of the places where the schema stands. */
  readonly optional?: readonly string[];
}

/**
 * Named schemas of the document. Reusable ones are recognized by their shape inside other schemas and replaced by a
 * reference: the definitions themselves need no names.
 */
export class SchemaComponents {
  readonly #named = new Map<string, JsonObject>();
  readonly #nameByShape = new Map<string, string>();

  add(name: string, schema: TSchema, options: SchemaOptions): void {
    const wire = wireSchema(schema);
    if (this.#named.has(name)) throw new Error(`two schemas of the document are called ${name}`);
    this.#named.set(name, shown(wire, options));
    const shape = shapeOf(wire);
    if (options.isReusable && !this.#nameByShape.has(shape)) this.#nameByShape.set(shape, name);
  }

  has(name: string): boolean {
    return this.#named.has(name);
  }

  /** The name of a reusable schema of this shape. */
  nameOf(schema: TSchema): string | undefined {
    return this.#nameFor(wireSchema(schema));
  }

  /** The schema with a reference for every named part. */
  use(schema: TSchema): JsonObject {
    return this.#referred(wireSchema(schema));
  }

  /** An example of a named schema, which may need the names of others. */
  setExample(name: string, example: JsonValue): void {
    const known = this.#named.get(name);
    if (known !== undefined) this.#named.set(name, { ...known, examples: [example] });
  }

  toJson(): Readonly<Record<string, JsonObject>> {
    const sorted = [...this.#named].sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(sorted.map(([name, schema]) => [name, this.#withParts(schema)]));
  }

  #referred(schema: JsonObject): JsonObject {
    const name = this.#nameFor(schema);
    if (name === undefined) return this.#withParts(schema);
    const { description } = schema;
    const isSaidThere = description === undefined || description === this.#named.get(name)?.['description'];
    return { $ref: `#/components/schemas/${name}`, ...(!isSaidThere && { description }) };
  }

  /** Only objects have names; skipping the rest saves most of the work. */
  #nameFor(schema: JsonObject): string | undefined {
    return schema['properties'] === undefined ? undefined : this.#nameByShape.get(shapeOf(schema));
  }

  #withParts(schema: JsonObject): JsonObject {
    const result: Record<string, JsonValue> = {};
    for (const [keyword, value] of Object.entries(schema)) {
      if (keyword === 'properties') result[keyword] = this.#eachOf(value as JsonObject);
      else if (keyword === 'anyOf' || keyword === 'allOf')
        result[keyword] = (value as readonly JsonObject[]).map((part) => this.#referred(part));
      else if ((keyword === 'items' || keyword === 'additionalProperties') && isJsonObject(value))
        result[keyword] = this.#referred(value);
      else result[keyword] = value;
    }
    return result;
  }

  #eachOf(properties: JsonObject): JsonObject {
    const referred = Object.entries(properties).map(([name, field]) => [name, this.#referred(field as JsonObject)]);
    return Object.fromEntries(referred) as JsonObject;
  }
}

function shown(wire: JsonObject, { description, optional = [] }: SchemaOptions): JsonObject {
  const required = (wire['required'] ?? []) as readonly string[];
  return {
    ...wire,
    ...(description !== undefined && { description }),
    ...(wire['required'] !== undefined && { required: required.filter((name) => !optional.includes(name)) }),
  };
}

/** The schema's own description and field-level annotations do not make it a different schema. */
function shapeOf(schema: JsonObject): string {
  const { description: _, 'x-reference': __, default: ___, examples: ____, ...shape } = schema;
  return canonicalJson(shape);
}

/** Names for schemas that clients see in several places: Refs, every resource and module, their bodies and lists. */
export function nameSchemas(
  operations: readonly Operation[],
  subjects: ReadonlyMap<string, Subject>,
): SchemaComponents {
  const components = new SchemaComponents();
  components.add('Ref', refSchema, { isReusable: true });
  for (const subject of subjects.values()) {
    const read = readSchemaOf(subject, operations);
    if (read !== undefined) components.add(subject.schemaName, read, { isReusable: true, ...readOptions(subject) });
  }
  for (const operation of operations) {
    const body = bodySchemaName(operation, subjects);
    // A module's body is also nested in the bodies of its edge or route.
    if (body !== null && operation.body !== undefined)
      components.add(body, operation.verb === 'update' ? unsetLists(operation.body.schema) : operation.body.schema, {
        isReusable: operation.method === 'PUT',
        ...(subjectOf(operation, subjects).isModule && { description: subjectOf(operation, subjects).description }),
      });
    const success = successSchemaName(operation, subjects);
    if (success !== null && operation.success.schema !== null && !components.has(success))
      components.add(success, withoutRowsText(operation.success.schema), { isReusable: false });
  }
  return components;
}

/** The response of a list says what its rows are. */
function withoutRowsText(list: TSchema): TSchema {
  const { properties } = list as unknown as { readonly properties: Readonly<Record<string, JsonObject>> };
  const fields = Object.entries(properties).map(([name, field]) => {
    const { description, ...rest } = field;
    return [name, description === ROWS_DESCRIPTION ? rest : field];
  });
  return { ...list, properties: Object.fromEntries(fields) } as TSchema;
}

/**
 * A field of a body does not repeat what the same field of its resource says: that was a twentieth of the document. Nor
 * does a module's object repeat what its tag says.
 */
export function withoutRepeatedDescriptions(
  schemas: Readonly<Record<string, JsonObject>>,
  subjects: ReadonlyMap<string, Subject>,
): Readonly<Record<string, JsonObject>> {
  const allModules = [...subjects.values()].filter(({ isModule }) => isModule);
  const modules = new Set(allModules.map((each) => each.schemaName));
  const saidByTags = new Set(allModules.map(({ description }) => `${description} ${UNSET_MODULE}`));
  const shortened = Object.entries(schemas).map(([name, schema]): [string, JsonObject] => {
    const resource = schemaSetBy(name, schemas);
    if (resource === undefined)
      return [name, modules.has(name) ? withoutRepeated(schema, schema) : withoutTexts(schema, saidByTags)];
    const fields = Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, JsonObject>>);
    const properties = fields.map(([field, own]) => [field, withoutRepeated(own, fieldSetBy(field, own, resource))]);
    return [name, { ...withoutRepeated(schema, resource), properties: Object.fromEntries(properties) as JsonObject }];
  });
  return Object.fromEntries(shortened);
}

/** Fields for modules say only that they may be null. */
function withoutTexts(schema: JsonObject, texts: ReadonlySet<string>): JsonObject {
  const fields = Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, JsonObject>>);
  if (!fields.some(([, { description }]) => texts.has(description as string))) return schema;
  const properties = fields.map(([name, field]) => [
    name,
    texts.has(field['description'] as string) ? { ...field, description: UNSET_MODULE } : field,
  ]);
  return { ...schema, properties: Object.fromEntries(properties) as JsonObject };
}

function withoutRepeated(schema: JsonObject, other: JsonObject | undefined): JsonObject {
  const { description, ...rest } = schema;
  return description !== undefined && description === other?.['description'] ? rest : schema;
}

/**
 * Null in an update means "unchanged" for every field. Lists and maps say so: Java classes of openapi-generator send
 * those that are not set as empty otherwise, which an update stores.
 */
function unsetLists(schema: TSchema): TSchema {
  const { properties } = schema as unknown as { readonly properties: Readonly<Record<string, JsonObject>> };
  const fields = Object.entries(properties).map(([name, field]) => {
    const isContainer = field['type'] === 'array' || field['patternProperties'] !== undefined;
    return [name, isContainer ? { ...field, type: [field['type'], 'null'] } : field];
  });
  return { ...schema, properties: Object.fromEntries(fields) } as TSchema;
}

export function bodySchemaName(operation: Operation, subjects: ReadonlyMap<string, Subject>): string | null {
  if (operation.body === undefined || operation.body.parsing === 'ignored') return null;
  const { schemaName } = subjectOf(operation, subjects);
  switch (operation.verb) {
    case 'create':
      return `${schemaName}Create`;
    case 'update':
      return `${schemaName}Update`;
    case 'replace':
      return `${schemaName}Replace`;
    default:
      return null;
  }
}

export function successSchemaName(operation: Operation, subjects: ReadonlyMap<string, Subject>): string | null {
  const { schemaName, resource } = subjectOf(operation, subjects);
  if (operation.verb === 'list') return listName(schemaName, subjects);
  // A create may show values that reads return as null: the description of the field says so.
  const isShownOnce =
    operation.verb === 'create' && resource.type === 'configuration' && resource.shownOnce !== undefined;
  return isShownOnce ? schemaName : null;
}

/** Events show what is stored: live fields may be absent there. */
function readOptions({ resource, isModule, description }: Subject): Omit<SchemaOptions, 'isReusable'> {
  if (isModule) return { description };
  return resource.type === 'configuration' ? { optional: Object.keys(resource.live?.schema ?? {}) } : {};
}

/** A resource may itself be a list, such as IpPolicyList: the page of its parent must not take the name. */
function listName(schemaName: string, subjects: ReadonlyMap<string, Subject>): string {
  const isTaken = [...subjects.values()].some((other) => other.schemaName === `${schemaName}List`);
  return `${schemaName}${isTaken ? 'Page' : 'List'}`;
}

function readSchemaOf(subject: Subject, operations: readonly Operation[]): TSchema | undefined {
  const own = operations.filter((operation) => operation.resource === subject.name);
  const get = own.find((operation) => operation.verb === 'get');
  if (get !== undefined) return get.success.schema ?? undefined;
  const list = own.find((operation) => operation.verb === 'list')?.success.schema as
    | { properties?: Readonly<Record<string, { items?: TSchema }>> }
    | null
    | undefined;
  return Object.values(list?.properties ?? {}).find((field) => field.items !== undefined)?.items;
}
