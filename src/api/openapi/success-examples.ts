import type { TObject, TSchema } from 'typebox';
import type { Catalog } from '../../documents/catalog.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { isObjectSchema } from '../../lib/schema/schema-facts.ts';
import type { Operation } from '../../resources/operation.ts';
import type { Resource } from '../../resources/resource.ts';
import { pathParameters } from './path-parameters.ts';
import { sampleId } from './sample-ids.ts';
import { type SampleWorld, sampleFields } from './sample-values.ts';
import type { SchemaComponents } from './schema-components.ts';
import type { Subject } from './subjects.ts';

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
