import type { ErrorRows } from '../../kit/errors.ts';
import type { Catalog } from '../documents/catalog.ts';
import type { Operation } from '../resources/operation.ts';
import type { Method, OpenApiDocument, OperationObject, PathItem, Tag } from './openapi/document.ts';
import { ErrorResponses } from './openapi/error-responses.ts';
import { successExample } from './openapi/examples.ts';
import { requestHeaders, responseHeaders } from './openapi/headers.ts';
import {
  type OperationContext,
  operationObject,
  SECURITY_SCHEME,
  SuccessResponses,
} from './openapi/operation-object.ts';
import { publicPaths, publicSchemas, SERVICE_TAG } from './openapi/public-paths.ts';
import { nameSchemas, withoutRepeatedDescriptions } from './openapi/schema-components.ts';
import { shareRepeated } from './openapi/share-repeated.ts';
import { introduction, type Subject, subjectOf, subjectsOf } from './openapi/subjects.ts';
import { webhooksOf } from './openapi/webhooks.ts';

export interface OpenApiOptions {
  readonly catalog: Catalog;
  /** Every error table of the program. */
  readonly errorRows: ErrorRows;
  readonly version: string;
  readonly serverUrl: string;
}

/** The API as OpenAPI 3.1, from the list of operations and the same schemas that validate requests. */
export function openApiDocument(operations: readonly Operation[], options: OpenApiOptions): OpenApiDocument {
  const { catalog, serverUrl } = options;
  const subjects = subjectsOf(catalog);
  const components = nameSchemas(operations, subjects);
  const conditional = operations.filter((operation) => operation.isConditional === true);
  const conditionalPaths = new Set(conditional.map((operation) => operation.path));
  const errorResponses = new ErrorResponses(options.errorRows);
  const successResponses = new SuccessResponses();
  const context = { catalog, components, subjects, serverUrl, errorResponses, successResponses, conditionalPaths };
  const described = operations.map((operation) => ({ operation, object: operationObject(operation, context) }));
  addExamples(operations, context);
  const document: OpenApiDocument = {
    openapi: '3.1.0',
    info: {
      title: 'Postern management API',
      version: options.version,
      description: introduction,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl, description: 'This server.' }],
    security: [{ [SECURITY_SCHEME]: [] }],
    tags: [...tagsOf(subjects, operations), SERVICE_TAG],
    paths: { ...pathsOf(described), ...publicPaths },
    webhooks: webhooksOf(operations, context),
    components: {
      schemas: {
        ...withoutRepeatedDescriptions(components.toJson(), subjects),
        ...publicSchemas,
        Error: errorResponses.schema(),
      },
      responses: { ...successResponses.toJson(), ...errorResponses.responses() },
      parameters: requestHeaders,
      headers: responseHeaders,
      securitySchemes: {
        [SECURITY_SCHEME]: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key. Each operation names the scope that it requires.',
        },
      },
    },
  };
  return shareRepeated(document);
}

/** One example for each resource and module, at its schema. */
function addExamples(operations: readonly Operation[], context: OperationContext): void {
  for (const operation of operations.filter(({ verb }) => verb === 'get')) {
    const subject = subjectOf(operation, context.subjects);
    if (operation.success.schema !== null) {
      context.components.setExample(subject.schemaName, successExample(operation, subject, context));
    }
  }
}

function tagsOf(subjects: ReadonlyMap<string, Subject>, operations: readonly Operation[]): readonly Tag[] {
  const used = new Set(operations.map((operation) => operation.resource));
  return [...subjects.values()]
    .filter((subject) => used.has(subject.name))
    .map(({ name, description, title, resource, isModule }) => ({
      name,
      description,
      'x-displayName': title,
      ...(!isModule &&
        resource.type === 'configuration' &&
        resource.isNeverRestored === true && { 'x-never-restored': true }),
    }));
}

function pathsOf(
  described: readonly { readonly operation: Operation; readonly object: OperationObject }[],
): Readonly<Record<string, PathItem>> {
  const paths = new Map<string, Partial<Record<Method, OperationObject>>>();
  for (const { operation, object } of described) {
    const item = paths.get(operation.path) ?? {};
    item[operation.method.toLowerCase() as Method] = object;
    paths.set(operation.path, item);
  }
  return Object.fromEntries(paths);
}
