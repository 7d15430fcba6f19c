import type { TObject, TSchema } from 'typebox';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import { referenceAnnotation, refSchema } from '../../../kit/schema/annotations.ts';
import { isObjectSchema, itemsWithSecrets, SECRET_MASK, secretVisibility } from '../../../kit/schema/schema-facts.ts';
import { defaultOf, hasDefault } from '../../../kit/schema/wire-forms.ts';
import { KSUID_PATTERN } from '../../../kit/text/ksuid.ts';
import type { Catalog } from '../../documents/catalog.ts';
import type { Operation } from '../../resources/operation.ts';
import type { Resource } from '../../resources/resource.ts';
import type { ParameterObject } from './document.ts';
import type { SchemaComponents } from './schema-components.ts';
import type { Subject } from './subjects.ts';

/** Lookups needed to fill a schema with sample values. */
interface SampleWorld {
  /** A Ref for the id; without an id, for a sample of the kind. */
  refTo(target: { readonly id: string } | { readonly kind: string }): JsonObject;
  /** A complete nested resource; undefined when the schema is not one. */
  resource(schema: TSchema): JsonObject | undefined;
  /** The response to a create: includes values that are shown only once, and nothing is nested yet. */
  readonly isCreate: boolean;
}

interface Keywords {
  readonly type?: unknown;
  readonly const?: JsonValue;
  readonly enum?: readonly JsonValue[];
  readonly anyOf?: readonly TSchema[];
  readonly items?: TSchema;
  readonly format?: string;
  readonly minimum?: number;
  readonly examples?: readonly JsonValue[];
  readonly required?: readonly string[];
}

/** The fields of a read form, from the example body, the stored form's defaults, and sample values. */
function sampleFields(read: TObject, sent: JsonObject, stored: TObject | null, world: SampleWorld): JsonObject {
  const required = (read as Keywords).required ?? [];
  const result: Record<string, JsonValue> = {};
  for (const [name, field] of Object.entries(read.properties)) {
    const storedName = storedNameOf(name, stored);
    const storedField = stored?.properties[storedName];
    const value = sent[storedName] ?? (storedField === undefined ? undefined : defaultValue(storedField));
    if (value === undefined && !required.includes(name) && !hasSample(field)) continue;
    result[name] = sampleField(field, value, storedField, world);
  }
  return result;
}

function sampleField(
  field: TSchema,
  value: JsonValue | undefined,
  stored: TSchema | undefined,
  world: SampleWorld,
): JsonValue {
  if (isNullable(field)) {
    const inner = innerOf(field);
    const isUnset = value === null || value === '' || (value === undefined && !hasSample(field) && !hasSample(inner));
    return isUnset ? null : sampleField({ ...inner, ...annotationsOf(field) }, value, stored, world);
  }
  if (isRef(field)) return world.refTo(refTarget(field, value));
  const items = (field as Keywords).items;
  if (items !== undefined) return sampleList(field, items, value, world);
  if (isObjectSchema(field) && Object.keys(field.properties).length > 0) {
    const sent = isJsonObject(value) ? value : {};
    return sampleFields(field, sent, stored !== undefined && isObjectSchema(stored) ? stored : null, world);
  }
  return shownSecret(field, value, world) ?? value ?? sampleScalar(field);
}

function sampleList(field: TSchema, items: TSchema, value: JsonValue | undefined, world: SampleWorld): JsonValue {
  if (Array.isArray(value)) {
    return (value as readonly JsonValue[]).map((item) =>
      isRef(items) ? world.refTo(refTarget(items, item)) : withoutHashed(field, item),
    );
  }
  const examples = (field as Keywords).examples?.[0];
  if (examples !== undefined) return examples;
  const nested = world.resource(items);
  if (nested !== undefined) return world.isCreate ? [] : [nested];
  return [sampleField({ ...items, ...annotationsOf(field) }, undefined, undefined, world)];
}

/** A secret of which only a hash is stored reads as empty. */
function withoutHashed(list: TSchema, item: JsonValue): JsonValue {
  const items = itemsWithSecrets(list);
  if (items === null || !isJsonObject(item)) return item;
  const isHashed = (name: string): boolean => secretVisibility(items.properties[name] ?? {}) === 'hashed';
  return Object.fromEntries(Object.entries(item).map(([name, value]) => [name, isHashed(name) ? '' : value]));
}

function sampleScalar(field: TSchema): JsonValue {
  const { examples, const: constant, enum: values, type, format, minimum } = field as Keywords;
  const known = examples?.[0] ?? constant ?? values?.[0];
  if (known !== undefined) return known;
  if (format === 'date-time') return SAMPLE_TIME;
  if (type === 'integer' || type === 'number') return minimum ?? 1;
  if (type === 'boolean') return false;
  if (type === 'null') return null;
  return type === 'object' ? {} : '';
}

/** Masked secrets are generated when none was sent; only the create shows them. */
function shownSecret(field: TSchema, value: JsonValue | undefined, world: SampleWorld): JsonValue | undefined {
  const made = (field as Keywords).examples?.[0];
  if (secretVisibility(field) !== 'masked' || made === undefined) return undefined;
  return world.isCreate ? value || made : SECRET_MASK;
}

function storedNameOf(name: string, stored: TObject | null): string {
  const fields = Object.entries(stored?.properties ?? {});
  return fields.find(([, field]) => referenceAnnotation(field)?.readAs === name)?.[0] ?? name;
}

function defaultValue(stored: TSchema): JsonValue | undefined {
  return hasDefault(stored) ? (defaultOf(stored) as JsonValue) : undefined;
}

function hasSample(field: TSchema): boolean {
  const { examples, format } = field as Keywords;
  return examples !== undefined || format === 'date-time' || referenceAnnotation(field) !== undefined;
}

function annotationsOf(field: TSchema): object {
  const { examples } = field as Keywords;
  const reference = referenceAnnotation(field);
  return { ...(examples !== undefined && { examples }), ...(reference !== undefined && { 'x-reference': reference }) };
}

function isNullable(field: TSchema): boolean {
  return (field as Keywords).anyOf?.some((part) => (part as Keywords).type === 'null') ?? false;
}

function innerOf(field: TSchema): TSchema {
  return (field as Keywords).anyOf?.find((part) => (part as Keywords).type !== 'null') as TSchema;
}

function isRef(field: TSchema): boolean {
  return isObjectSchema(field) && Object.keys(field.properties).join() === Object.keys(refSchema.properties).join();
}

function refTarget(field: TSchema, value: JsonValue | undefined): { id: string } | { kind: string } {
  if (typeof value === 'string') return { id: value };
  const kind = referenceAnnotation(field)?.kinds[0];
  if (kind === undefined) throw new Error('a Ref that is not configuration needs x-reference to say what it refers to');
  return { kind };
}

const TEXT_LENGTH = 27;

/** A well-formed id that is obviously not a real one. */
function sampleId(resource: Pick<Resource, 'idPrefix' | 'kind'>): string {
  const kind = resource.kind.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
  return `${resource.idPrefix}_${`2zXAMPLE${kind}`.padEnd(TEXT_LENGTH, 'A').slice(0, TEXT_LENGTH)}`;
}

const SAMPLE_TIME = '2026-11-01T09:30:00.000Z';

/** Parameters of a path. The collection before a parameter determines its resource. */
export function pathParameters(path: string, resources: readonly Resource[]): readonly ParameterObject[] {
  return Array.from(path.matchAll(/\{([^}]+)\}/g), (match) => {
    const name = match[1] as string;
    const collection = path.slice(0, match.index - 1);
    const resource = resources.find((each) => each.path === collection);
    if (resource === undefined) throw new Error(`no resource has the path ${collection}, which ${path} builds on`);
    return { name, in: 'path', required: true, ...described(name, resource) };
  });
}

function described(name: string, resource: Resource): Pick<ParameterObject, 'description' | 'schema' | 'example'> {
  const noun = resource.title.replace(/^an? /, '');
  if (resource.idPrefix === '') {
    const example = sampleOfOwnKey(name, resource);
    return { description: `The ${name} of the ${noun}.`, schema: { type: 'string' }, example };
  }
  return {
    description: `Id of the ${noun}.`,
    schema: { type: 'string', pattern: `^${resource.idPrefix}_${KSUID_PATTERN}$` },
    example: sampleId(resource),
  };
}

/** A resource without its own ids is identified by a field of its create body. */
function sampleOfOwnKey(name: string, resource: Resource): string {
  const create = resource.type === 'live' ? resource.operations.find((each) => each.verb === 'create') : undefined;
  return (create?.body?.example[name] as string | undefined) ?? name;
}

export interface ExampleContext {
  readonly catalog: Catalog;
  readonly components: SchemaComponents;
  readonly subjects: ReadonlyMap<string, Subject>;
  readonly serverUrl: string;
}

/** A realistic response: the example body, read back. */
export function successExample(operation: Operation, subject: Subject, context: ExampleContext): JsonValue {
  const schema = operation.success.schema as TSchema;
  const world = sampleWorld(context, operation.verb === 'create');
  if (!isObjectSchema(schema)) return {};
  if (operation.verb === 'list') return sampleOfList(operation, schema, subject, world, context);
  return sampleOfSubject(schema, subject, bodyOf(operation, subject), world, context);
}

function sampleOfList(
  operation: Operation,
  schema: TObject,
  subject: Subject,
  world: SampleWorld,
  context: ExampleContext,
): JsonObject {
  const result: Record<string, JsonValue> = {};
  for (const [name, field] of Object.entries(schema.properties)) {
    const items = (field as { items?: TSchema }).items;
    if (items !== undefined && isObjectSchema(items)) {
      result[name] = [sampleOfSubject(items, subject, subject.example, world, context)];
    } else result[name] = name === 'uri' ? uriOf(operation.path, {}, context) : null;
  }
  return result;
}

function sampleOfSubject(
  schema: TObject,
  subject: Subject,
  sent: JsonObject,
  world: SampleWorld,
  context: ExampleContext,
): JsonObject {
  const { resource } = subject;
  const body = sampleFields(schema, sent, subject.config, world);
  if (subject.isModule) return body;
  const known: Record<string, JsonValue> = {};
  if ('id' in body) known['id'] = sampleId(resource);
  for (const parameter of pathParameters(resource.path, context.catalog.resources)) {
    if (parameter.name in body) known[parameter.name] = parameter.example as string;
  }
  if ('uri' in body) known['uri'] = resourceUri(resource, { ...body, ...known }, context);
  const completed = { ...body, ...known };
  return resource.type === 'configuration' ? (resource.render?.(completed) ?? completed) : completed;
}

/** PATCH names only the changes; its response is the whole resource. */
function bodyOf(operation: Operation, subject: Subject): JsonObject {
  return { ...subject.example, ...(operation.body?.parsing === 'ignored' ? {} : operation.body?.example) };
}

function sampleWorld(context: ExampleContext, isCreate: boolean): SampleWorld {
  const world: SampleWorld = {
    isCreate,
    refTo: (target) => {
      const kind = 'kind' in target ? target.kind : context.catalog.kindOfId(target.id);
      const resource = context.catalog.resourceOfKind(kind ?? '');
      if (resource === undefined)
        throw new Error(`the example refers to ${JSON.stringify(target)}, which does not exist`);
      const id = 'id' in target ? target.id : sampleId(resource);
      return { id, uri: resourceUri(resource, { id }, context) };
    },
    resource: (schema) => {
      const name = context.components.nameOf(schema);
      const subject = [...context.subjects.values()].find((each) => each.schemaName === name);
      return subject === undefined || !isObjectSchema(schema)
        ? undefined
        : sampleOfSubject(schema, subject, subject.example, world, context);
    },
  };
  return world;
}

function resourceUri(resource: Resource, body: JsonObject, context: ExampleContext): string {
  return uriOf(`${resource.path}/{${resource.idPrefix === '' ? 'type' : 'id'}}`, body, context);
}

function uriOf(path: string, known: JsonObject, context: ExampleContext): string {
  const samples = pathParameters(path, context.catalog.resources);
  const filled = samples.reduce(
    (text, { name, example }) => text.replace(`{${name}}`, (known[name] ?? example) as string),
    path,
  );
  return `${context.serverUrl}${filled}`;
}
