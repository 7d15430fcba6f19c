import type { TSchema } from 'typebox';
import { scopesNeeded } from '../../documents/scopes.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Operation } from '../../resources/operation.ts';
import { takesBody } from '../request-body.ts';
import {
  JSON_TYPE,
  type OperationObject,
  type ParameterObject,
  type RequestBody,
  type ResponseObject,
} from './document.ts';
import type { ErrorResponses } from './error-responses.ts';
import { canBeNotModified, headerRef, requestHeadersOf, responseHeadersOf } from './headers.ts';
import { bodySchemaName, successSchemaName } from './name-schemas.ts';
import { errorsOf } from './operation-errors.ts';
import { pathParameters } from './path-parameters.ts';
import { type Subject, subjectOf } from './subjects.ts';
import { type ExampleContext, successExample } from './success-examples.ts';
import { wireSchema } from './wire-schema.ts';

export interface OperationContext extends ExampleContext {
  readonly errorResponses: ErrorResponses;
  readonly conditionalPaths: ReadonlySet<string>;
}

export const SECURITY_SCHEME = 'api_key';

const NOT_MODIFIED: ResponseObject = {
  description: 'The resource still has an ETag in If-None-Match.',
  headers: { ...headerRef('Postern-Operation-Id'), ...headerRef('ETag') },
};

export function operationObject(operation: Operation, context: OperationContext): OperationObject {
  const subject = subjectOf(operation, context.subjects);
  const operationId = `${operation.resource}.${operation.verb}`;
  const isNotModifiable = canBeNotModified(operation, subject, context.conditionalPaths);
  return {
    operationId,
    tags: [operation.resource],
    summary: operation.summary,
    ...(operation.description !== undefined && { description: operation.description }),
    // OpenAPI 3.1 lets any scheme list the required permissions: here, the scopes of API keys.
    security: [{ [SECURITY_SCHEME]: [...scopesNeeded(operation)] }],
    parameters: [
      ...pathParameters(operation.path, context.catalog.resources),
      ...queryParameters(operation),
      ...requestHeadersOf(operation, isNotModifiable),
    ],
    ...(takesBody(operation) && { requestBody: requestBody(operation, context) }),
    responses: {
      [operation.success.status]: successResponse(operation, subject, context),
      ...(isNotModifiable && { 304: NOT_MODIFIED }),
      ...context.errorResponses.of(operationId, errorsOf(operation, subject)),
    },
  };
}

function queryParameters(operation: Operation): readonly ParameterObject[] {
  return Object.entries(operation.query?.properties ?? {}).map(([name, field]) => {
    const { description, ...schema } = wireSchema(field);
    return { name, in: 'query', required: false, description: (description as string | undefined) ?? '', schema };
  });
}

function requestBody(operation: Operation & Required<Pick<Operation, 'body'>>, context: OperationContext): RequestBody {
  const { schema, example } = operation.body;
  const required = (schema as { required?: readonly string[] }).required ?? [];
  const name = bodySchemaName(operation, context.subjects);
  return {
    // An absent body counts as `{}`.
    required: required.length > 0,
    content: { [JSON_TYPE]: { schema: referred(name, schema, context), example } },
  };
}

function successResponse(operation: Operation, subject: Subject, context: OperationContext): ResponseObject {
  const { description, schema } = operation.success;
  const response = { description, headers: responseHeadersOf(operation, subject, context.conditionalPaths) };
  if (schema === null) return response;
  const name = successSchemaName(operation, context.subjects);
  const example = successExample(operation, subject, context);
  return { ...response, content: { [JSON_TYPE]: { schema: referred(name, schema, context), example } } };
}

function referred(name: string | null, schema: TSchema, { components }: OperationContext): JsonObject {
  if (name === null || !components.has(name)) return components.use(schema);
  return { $ref: `#/components/schemas/${name}` };
}
