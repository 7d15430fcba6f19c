import type { TObject, TSchema } from 'typebox';
import { listItems } from '../../../src/app/cli/api/api-resources.ts';
import type { OperationDescription } from '../../../src/app/cli/api/operation-list.ts';
import { pagingQuery } from '../../../src/control/resources/paging.ts';
import { type ClientResource, pascal } from './client-resource.ts';

const PAGING: readonly string[] = Object.keys(pagingQuery(''));
const SEARCHING = ['filter', 'q', 'order_by', 'skip'];

/** A type that a resource's file declares. */
export interface DeclaredType {
  readonly name: string;
  readonly schema: TObject;
  /** Fields of this one are omitted: they are inherited. */
  readonly base?: { readonly name: string; readonly schema: TObject };
}

/** The types of a resource: its read form, the body of each operation, and the fields that only a create shows. */
export function declaredTypes(resource: ClientResource): readonly DeclaredType[] {
  const types: DeclaredType[] = [];
  const read = readSchema(resource);
  if (read !== null) types.push({ name: resource.typeName, schema: read });
  for (const operation of resource.operations) {
    const { schema } = operation.success;
    const base = read === null ? {} : { base: { name: resource.typeName, schema: read } };
    if (isNewAnswer(operation, read)) {
      const isExtension = read !== null && extendsSchema(schema as TObject, read);
      types.push({ name: answerName(resource, operation), schema: schema as TObject, ...(isExtension && base) });
    }
    const body = bodySchema(operation);
    if (body !== null) types.push({ name: bodyName(resource, operation), schema: body });
    if (ownFilters(operation).length > 0)
      types.push({ name: `${resource.typeName}Query`, schema: filterSchema(operation) });
  }
  return types;
}

/** Null: the operation takes no body, or one without fields. */
export function bodySchema(operation: OperationDescription): TObject | null {
  const schema = operation.body?.schema as TObject | undefined;
  return schema === undefined || Object.keys(schema.properties).length === 0 ? null : schema;
}

export function bodyName(resource: ClientResource, operation: OperationDescription): string {
  return `${resource.typeName}${pascal(operation.verb)}`;
}

/** Name of the type that the operation resolves to; null when there is none. */
export function answerType(resource: ClientResource, operation: OperationDescription): string | null {
  const { schema } = operation.success;
  if (schema === null) return null;
  if (Object.keys((schema as TObject).properties).length === 0) return 'Readonly<Record<string, unknown>>';
  return isNewAnswer(operation, readSchema(resource)) ? answerName(resource, operation) : resource.typeName;
}

export function queryType(resource: ClientResource, operation: OperationDescription): string | null {
  if (operation.query === undefined) return null;
  return ownFilters(operation).length > 0 ? `${resource.typeName}Query` : 'PageQuery';
}

function readSchema({ operations }: ClientResource): TObject | null {
  const get = operations.find(({ verb }) => verb === 'get');
  const list = operations.find(({ verb }) => verb === 'list');
  return (get?.success.schema ?? (list && listItems(list)?.item) ?? null) as TObject | null;
}

function isNewAnswer(operation: OperationDescription, read: TObject | null): boolean {
  const schema = operation.success.schema as TObject | null;
  if (schema === null || Object.keys(schema.properties).length === 0) return false;
  return read === null || JSON.stringify(schema) !== JSON.stringify(read);
}

function answerName(resource: ClientResource, operation: OperationDescription): string {
  if (operation.verb === 'list') return `${resource.typeName}Page`;
  return operation.verb === 'create'
    ? `${resource.typeName}Created`
    : `${resource.typeName}${pascal(operation.verb)}Answer`;
}

function extendsSchema(schema: TObject, base: TObject): boolean {
  return Object.keys(base.properties).every((name) => name in schema.properties);
}

function ownFilters(operation: OperationDescription): readonly (readonly [string, TSchema])[] {
  const properties = operation.query?.properties ?? {};
  // PageQuery has what every list with pages knows.
  const inherited = 'limit' in properties ? [...PAGING, ...SEARCHING] : PAGING;
  return Object.entries(properties).filter(([name]) => !inherited.includes(name));
}

function filterSchema(operation: OperationDescription): TObject {
  return { type: 'object', properties: Object.fromEntries(ownFilters(operation)) } as unknown as TObject;
}
