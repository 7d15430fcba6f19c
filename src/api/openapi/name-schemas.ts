import type { TSchema } from 'typebox';
import { UNSET_MODULE } from '../../documents/operations.ts';
import type { JsonObject } from '../../lib/json.ts';
import { refSchema } from '../../lib/schema/annotations.ts';
import { fieldSetBy, schemaSetBy } from '../../lib/schema/body-fields.ts';
import { ROWS_DESCRIPTION } from '../../resources/live-operations.ts';
import type { Operation } from '../../resources/operation.ts';
import { SchemaComponents, type SchemaOptions } from './schema-components.ts';
import { type Subject, subjectOf } from './subjects.ts';

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
 * A field of a body does not repeat what the same field of its resource says: that was a twentieth of the document. Nor does
 * a module's object repeat what its tag says.
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
