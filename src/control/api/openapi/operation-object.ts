import type { TSchema } from 'typebox';
import type { JsonObject } from '../../../kit/json.ts';
import type { Operation } from '../../resources/operation.ts';
import { scopesNeeded } from '../../resources/scopes.ts';
import { MAY_BE_EMPTY, takesBody } from '../request-parts.ts';
import {
  JSON_TYPE,
  type OperationObject,
  type ParameterObject,
  type Reference,
  type RequestBody,
  type ResponseObject,
} from './document.ts';
import { type ErrorResponses, errorsOf } from './error-responses.ts';
import { type ExampleContext, pathParameters, successExample } from './examples.ts';
import { canBeNotModified, headerRef, requestHeadersOf, responseHeadersOf } from './headers.ts';
import { bodySchemaName, successSchemaName, wireSchema } from './schema-components.ts';
import { commonRules, type Subject, subjectOf } from './subjects.ts';

export interface OperationContext extends ExampleContext {
  readonly errorResponses: ErrorResponses;
  readonly successResponses: SuccessResponses;
  readonly conditionalPaths: ReadonlySet<string>;
}

/** Responses with one named schema, and with the same headers but the one that writes add, are one component. */
export class SuccessResponses {
  readonly #named = new Map<string, ResponseObject>();

  use(response: ResponseObject): ResponseObject | Reference {
    const schema = response.content?.[JSON_TYPE]?.schema['$ref'];
    if (typeof schema !== 'string') return response;
    const name = schema.split('/').at(-1) ?? '';
    const known = this.#named.get(name);
    const [own, ofKnown] = [response, known ?? response].map(({ headers }) => ownHeaders(headers ?? {}).join());
    if (own !== ofKnown) return response;
    const headers = { ...known?.headers, ...response.headers };
    this.#named.set(name, { ...(known ?? response), ...(Object.keys(headers).length > 0 && { headers }) });
    return { $ref: `#/components/responses/${name}` };
  }

  toJson(): Readonly<Record<string, ResponseObject>> {
    return Object.fromEntries(this.#named);
  }
}

/** The description of the revision says which responses have it. */
function ownHeaders(headers: object): readonly string[] {
  return Object.keys(headers).filter((name) => name !== 'Postern-Revision');
}

export const SECURITY_SCHEME = 'api_key';

const NOT_MODIFIED: ResponseObject = {
  description: 'The resource still has an ETag in If-None-Match.',
  headers: headerRef('ETag'),
};

export function operationObject(operation: Operation, context: OperationContext): OperationObject {
  const subject = subjectOf(operation, context.subjects);
  const operationId = `${operation.resource}.${operation.verb}`;
  const isNotModifiable = canBeNotModified(operation, subject, context.conditionalPaths);
  return {
    operationId,
    tags: [operation.resource],
    summary: operation.summary,
    ...ownDescription(operation, subject),
    // OpenAPI 3.1 lets any scheme list the required permissions: here, the scopes of API keys.
    security: [{ [SECURITY_SCHEME]: [...scopesNeeded(operation)] }],
    parameters: [
      ...pathParameters(operation.path, context.catalog.resources),
      ...queryParameters(operation),
      ...requestHeadersOf(operation, isNotModifiable),
    ],
    ...(takesBody(operation) && { requestBody: requestBody(operation, context) }),
    responses: {
      [operation.success.status]: context.successResponses.use(successResponse(operation, subject, context)),
      ...(isNotModifiable && { 304: NOT_MODIFIED }),
      ...context.errorResponses.of(operationId, errorsOf(operation, subject)),
    },
  };
}

/** Each list has its own kind of id, which is all that differs. */
const ANY_BEFORE_ID: JsonObject = {
  type: 'string',
  description: 'Only resources older than the one with this id, even if it was deleted since. Empty counts as absent.',
};

/** The tag has the description of the subject, and the introduction the rules of all operations of a kind. */
function ownDescription({ description = '' }: Operation, subject: Subject): { readonly description?: string } {
  const isOfSubject = description.startsWith(subject.description);
  const own = isOfSubject ? description.slice(subject.description.length).trimStart() : description;
  const rule = [...commonRules].find((each) => own.endsWith(each)) ?? '';
  const rest = own.slice(0, own.length - rule.length).trimEnd();
  return rest === '' ? {} : { description: rest };
}

function queryParameters(operation: Operation): readonly ParameterObject[] {
  return Object.entries(operation.query?.properties ?? {}).map(([name, field]) => {
    const { description, ...schema } = name === 'before_id' ? ANY_BEFORE_ID : wireSchema(field);
    const text = (description as string | undefined) ?? '';
    const isEmptyAllowed = MAY_BE_EMPTY.has(name);
    return {
      ...{ name, in: 'query', ...(isEmptyAllowed && { allowEmptyValue: true }), description: text },
      schema,
    };
  });
}

function requestBody(operation: Operation & Required<Pick<Operation, 'body'>>, context: OperationContext): RequestBody {
  const { schema, example } = operation.body;
  const required = (schema as { required?: readonly string[] }).required ?? [];
  const name = bodySchemaName(operation, context.subjects);
  return {
    // An absent body counts as `{}`.
    ...(required.length > 0 && { required: true }),
    content: { [JSON_TYPE]: { schema: referred(name, schema, context), example } },
  };
}

function successResponse(operation: Operation, subject: Subject, context: OperationContext): ResponseObject {
  const { description, schema } = operation.success;
  const headers = responseHeadersOf(operation, subject, context.conditionalPaths);
  const response = { description, ...(Object.keys(headers).length > 0 && { headers }) };
  if (schema === null) return response;
  const name = successSchemaName(operation, context.subjects);
  const shown = referred(name, schema, context);
  // Named schemas have examples of their own.
  const example = '$ref' in shown ? {} : { example: successExample(operation, subject, context) };
  return { ...response, content: { [JSON_TYPE]: { schema: shown, ...example } } };
}

function referred(name: string | null, schema: TSchema, { components }: OperationContext): JsonObject {
  if (name === null || !components.has(name)) return components.use(schema);
  return { $ref: `#/components/schemas/${name}` };
}
