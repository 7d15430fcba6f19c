import assert from 'node:assert/strict';
import Schema from 'typebox/schema';
import { allErrorRows } from '../../src/app/main/error-tables.ts';
import {
  type OpenApiDocument,
  operationsAt,
  type ParameterObject,
  type Reference,
  type ResponseObject,
} from '../../src/control/api/openapi/document.ts';
import { registeredOperations } from '../../src/control/api/openapi/registered-operations.ts';
import { openApiDocument } from '../../src/control/api/openapi.ts';
import { resources } from '../../src/control/resources/registry.ts';
import type { ErrorRows } from '../../src/kit/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/kit/json.ts';
import { fieldSetBy, schemaSetBy } from '../../src/kit/schema/body-fields.ts';
import { modules } from '../../src/modules/registry.ts';

export const { catalog, operations } = registeredOperations(resources, modules);

export function makeDocument(serverUrl = 'http://127.0.0.1:7080'): OpenApiDocument {
  return openApiDocument(operations, { catalog, errorRows, version: '0.0.0', serverUrl });
}

export const errorRows: ErrorRows = allErrorRows();

/** What a field of a schema says: beside a reference, at its target, or, in a body, at the field of its resource. */
export function fieldDescription(
  document: OpenApiDocument,
  schema: string | null,
  name: string,
  field: JsonObject,
): string {
  const { schemas } = document.components;
  const target = (each: JsonObject): JsonObject => ({ ...resolve<JsonObject>(document, each), ...each });
  const resource = schema === null ? undefined : schemaSetBy(schema, schemas);
  const own = resource && fieldSetBy(name, target(field), resource);
  return ((target(field)['description'] ?? (own && target(own)['description'])) as string | undefined) ?? '';
}

export interface DocumentedOperation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly requestSchema: JsonObject | undefined;
  readonly requestExample: JsonObject | undefined;
  readonly parameters: readonly (ParameterObject | Reference)[];
  /** By status. The errors that all operations share are under `default`. */
  readonly responses: ReadonlyMap<number | 'default', ResponseObject>;
}

export function documentedOperations(document: OpenApiDocument): readonly DocumentedOperation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    operationsAt(item).map(([method, operation]) => {
      const media = operation.requestBody?.content['application/json'];
      const responses = Object.entries(operation.responses).map(
        ([status, response]) =>
          [status === 'default' ? status : Number(status), resolve<ResponseObject>(document, response)] as const,
      );
      return {
        id: operation.operationId,
        method: method.toUpperCase(),
        path,
        requestSchema: media?.schema,
        requestExample: media?.example as JsonObject | undefined,
        parameters: operation.parameters ?? [],
        responses: new Map(responses),
      };
    }),
  );
}

/** The success of an operation: each has one. */
export function successOf({ id, responses }: DocumentedOperation): readonly [number, ResponseObject] {
  const found = [...responses].find(([status]) => Number(status) < 300) ?? assert.fail(id);
  return found as [number, ResponseObject];
}

/** The codes that a documented response can have. */
export function errorCodesOf(response: ResponseObject): readonly string[] {
  const schema = response.content?.['application/json']?.schema as JsonObject | undefined;
  const properties = schema?.['properties'] as { error_code?: { enum?: readonly string[] } } | undefined;
  return properties?.error_code?.enum ?? [];
}

export function resolve<Thing>(document: OpenApiDocument, thing: object): Thing {
  if (!('$ref' in thing)) return thing as Thing;
  const steps = (thing.$ref as string).replace(/^#\//, '').split('/');
  const found = steps.reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], document);
  assert.notEqual(found, undefined, `${thing.$ref as string} leads nowhere`);
  return found as Thing;
}

/** Validates a value against the document alone. */
export class DocumentChecker {
  readonly #components: JsonObject;
  readonly #compiled = new Map<string, ReturnType<typeof Schema.Compile>>();

  /** `closed`: a field that the schema does not define is an error too. */
  constructor(document: OpenApiDocument, fields: 'open' | 'closed') {
    const plain = JSON.parse(JSON.stringify(document.components)) as JsonObject;
    this.#components = fields === 'closed' ? (closed(plain, plain) as JsonObject) : plain;
  }

  problems(schema: JsonObject, value: unknown): readonly string[] {
    const key = JSON.stringify(schema);
    let compiled = this.#compiled.get(key);
    if (compiled === undefined) {
      compiled = Schema.Compile({ ...schema, components: this.#components });
      this.#compiled.set(key, compiled);
    }
    if (compiled.Check(value)) return [];
    const [, errors] = compiled.Errors(value);
    return errors.map((error) => `${error.instancePath} ${error.message}`);
  }
}

function closed(value: JsonValue, components: JsonObject): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map((each) => closed(each, components));
  if (!isJsonObject(value)) return value;
  if (Array.isArray(value['allOf'])) {
    // One object in several parts: only together are they closed.
    const parts = value['allOf'].map((part: JsonObject) => resolve<JsonObject>({ components } as never, part));
    const properties = Object.assign({}, ...parts.map((part) => part['properties'])) as JsonObject;
    const required = parts.flatMap((part) => part['required'] as readonly string[]);
    return closed({ type: 'object', properties, required }, components);
  }
  const result = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, closed(inner, components)]));
  const isOpenObject = value['type'] === 'object' && value['properties'] !== undefined;
  return isOpenObject && value['additionalProperties'] === undefined
    ? { ...result, additionalProperties: false }
    : result;
}
