import { signal } from '@preact/signals';
import { schemaSetBy, withDescriptionsOf } from '../../../src/kit/schema/body-fields.ts';
import { type ApiError, asApiError } from '../api/api-error.ts';
import { get } from '../api/request.ts';
import type { JsonSchema } from './json-schema.ts';

export interface OpenapiOperation {
  readonly operationId: string;
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: JsonSchema; readonly example?: unknown }>>;
  };
  readonly responses?: Readonly<Record<string, OpenapiResponse>>;
}

export interface OpenapiResponse {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, { readonly schema?: JsonSchema }>>;
}

export interface OpenapiDocument {
  readonly tags: readonly {
    readonly name: string;
    readonly description?: string;
    readonly 'x-displayName'?: string;
    readonly 'x-never-restored'?: true;
  }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenapiOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, OpenapiResponse>>;
  };
}

export const apiDocument = signal<OpenapiDocument | null>(null);
export const apiDocumentError = signal<ApiError | null>(null);

let isLoading = false;

/**
 * The API describes itself: forms, labels and lists follow from it, also for resources that this console never heard
 * of.
 */
export async function loadApiDocument(): Promise<void> {
  if (isLoading || apiDocument.value !== null) return;
  isLoading = true;
  apiDocumentError.value = null;
  try {
    apiDocument.value = withOwnFields(await get<OpenapiDocument>('/openapi.json'));
  } catch (error) {
    apiDocumentError.value = asApiError(error);
  } finally {
    isLoading = false;
  }
}

/**
 * The document shares fields that many objects have, such as "metadata", and describes the fields of a body at the
 * resource only. Here each object has its own again.
 */
function withOwnFields(document: OpenapiDocument): OpenapiDocument {
  const { schemas } = document.components;
  const own = (schema: JsonSchema): JsonSchema => {
    const target = schema.$ref === undefined ? undefined : schemas[schemaNameOf(schema.$ref)];
    if (target !== undefined && target.properties === undefined) return own({ ...target, ...withoutReference(schema) });
    return {
      ...schema,
      ...(schema.properties !== undefined && { properties: eachOwn(schema.properties) }),
      ...(schema.items !== undefined && { items: own(schema.items) }),
      ...(schema.anyOf !== undefined && { anyOf: schema.anyOf.map(own) }),
    };
  };
  const eachOwn = (all: Readonly<Record<string, JsonSchema>>): Readonly<Record<string, JsonSchema>> =>
    Object.fromEntries(Object.entries(all).map(([name, schema]) => [name, own(schema)]));
  const all = eachOwn(schemas);
  const described = Object.entries(all).map(([name, schema]) => {
    const resource = schemaSetBy(name, all);
    return [name, resource === undefined ? schema : withDescriptionsOf(schema, resource, (field) => field)];
  });
  return { ...document, components: { ...document.components, schemas: Object.fromEntries(described) } };
}

/** Follows a reference; a description beside it replaces the one of the target. */
export function resolveSchema(schema: JsonSchema): JsonSchema {
  if (schema.$ref === undefined) return withoutNull(schema);
  const target = apiDocument.value?.components.schemas[schemaNameOf(schema.$ref)];
  if (target === undefined) return schema;
  return withoutNull({ ...target, ...(schema.description !== undefined && { description: schema.description }) });
}

function withoutReference({ $ref: _reference, ...rest }: JsonSchema): JsonSchema {
  return rest;
}

/** Lists and maps of a PATCH may be null, which stands for empty: a form writes the empty one. */
function withoutNull(schema: JsonSchema): JsonSchema {
  const { type } = schema as { readonly type?: unknown };
  if (!Array.isArray(type)) return schema;
  const [only, ...others] = type.filter((each): each is string => each !== 'null' && typeof each === 'string');
  return only === undefined || others.length > 0 ? schema : { ...schema, type: only };
}

export function schemaNameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}
