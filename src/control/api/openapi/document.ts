import type { JsonObject, JsonValue } from '../../../kit/json.ts';

/** The part of OpenAPI 3.1 that our document uses. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: JsonObject;
  readonly servers: readonly { readonly url: string; readonly description: string }[];
  readonly security: readonly SecurityRequirement[];
  readonly tags: readonly Tag[];
  readonly paths: Readonly<Record<string, PathItem>>;
  /** Requests that the server sends. */
  readonly webhooks: Readonly<Record<string, PathItem>>;
  readonly components: Components;
}

export interface Tag {
  readonly name: string;
  readonly description: string;
  /** The tag's heading. */
  readonly 'x-displayName': string;
  /** Neither an undo nor a revert brings back what was deleted. */
  readonly 'x-never-restored'?: true;
}

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
export type PathItem = Readonly<Partial<Record<Method, OperationObject>>> & {
  /** Parameters that belong to every operation of the path. */
  readonly parameters?: readonly (ParameterObject | Reference)[];
};

/** The operations of a path, each with all of its parameters. */
export function operationsAt({ parameters = [], ...item }: PathItem): readonly (readonly [Method, OperationObject])[] {
  return (Object.entries(item) as [Method, OperationObject][]).map(([method, operation]) => [
    method,
    parameters.length === 0
      ? operation
      : { ...operation, parameters: [...parameters, ...(operation.parameters ?? [])] },
  ]);
}
export type SecurityRequirement = Readonly<Record<string, readonly string[]>>;

export interface OperationObject {
  readonly operationId: string;
  readonly tags: readonly string[];
  /** Nothing that clients call. */
  readonly 'x-internal'?: true;
  readonly summary: string;
  readonly description?: string;
  readonly security?: readonly SecurityRequirement[];
  readonly parameters?: readonly (ParameterObject | Reference)[];
  readonly requestBody?: RequestBody;
  readonly responses: Readonly<Record<string, ResponseObject | Reference>>;
}

export interface Reference {
  readonly $ref: string;
}

export interface ParameterObject {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description: string;
  /** Absent: false. */
  readonly required?: true;
  readonly allowEmptyValue?: boolean;
  readonly schema: JsonObject;
  readonly example?: JsonValue;
}

export interface RequestBody {
  readonly description?: string;
  /** Absent: false. */
  readonly required?: true;
  readonly content: Readonly<Record<string, MediaType>>;
}

export interface MediaType {
  readonly schema: JsonObject;
  readonly example?: JsonValue;
}

export interface ResponseObject {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Reference>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}

export interface HeaderObject {
  readonly description: string;
  readonly schema: JsonObject;
  readonly example?: JsonValue;
}

export interface Components {
  readonly schemas: Readonly<Record<string, JsonObject>>;
  readonly responses: Readonly<Record<string, ResponseObject>>;
  readonly parameters: Readonly<Record<string, ParameterObject>>;
  readonly headers: Readonly<Record<string, HeaderObject>>;
  readonly securitySchemes: Readonly<Record<string, JsonObject>>;
}

export const JSON_TYPE = 'application/json';
