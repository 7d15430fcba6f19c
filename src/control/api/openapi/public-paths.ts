import type { JsonObject } from '../../../kit/json.ts';
import { JSON_TYPE, type OperationObject, type PathItem, type ResponseObject, type Tag } from './document.ts';
import { COMMON_RESPONSE } from './error-responses.ts';
import { SECURITY_SCHEME } from './operation-object.ts';

export const SERVICE_TAG: Tag = {
  name: 'service',
  description: 'Health, metrics and documentation of the server. These paths do not require a version.',
  'x-displayName': 'Service',
};

/** Schemas of the public paths. */
export const publicSchemas: Readonly<Record<string, JsonObject>> = {
  Health: {
    type: 'object',
    required: ['status'],
    properties: {
      status: {
        type: 'string',
        enum: ['starting', 'ready', 'degraded', 'failed', 'draining'],
        description:
          'State of the server. `degraded`: the store cannot be reached or written, and traffic is served from memory. `failed`: the store is damaged or missing.',
      },
      store: {
        type: 'object',
        description:
          'With the query parameter verbose: `status` of the store (`ok`, `degraded`, `failed`) and `since`, the time from which it has had it.',
      },
      peers: {
        type: 'array',
        description:
          'With the query parameter verbose and an API key with the scope nodes:read: `name` and `status` (`linked`, `unreachable`, `lost`) of each of the other nodes.',
        items: { type: 'object' },
      },
      error_code: {
        type: 'string',
        description: 'Cause of the status `degraded` or `failed`. The log has the details.',
      },
    },
  },
};

const healthSchema: JsonObject = { $ref: '#/components/schemas/Health' };

/** Paths served beside the operations. */
export const publicPaths: Readonly<Record<string, PathItem>> = {
  '/healthz': {
    get: open('health.get', 'Get the health of the server', {
      200: answer('Every listener is open. The store may be degraded.', JSON_TYPE, healthSchema, { status: 'ready' }),
      503: answer('The server is starting or draining, or its store has failed.', JSON_TYPE, healthSchema, {
        status: 'draining',
      }),
    }),
  },
  '/metrics': {
    get: {
      ...open('metrics.get', 'Get metrics for Prometheus', {
        200: answer('Metrics in the text format of Prometheus, or as OpenMetrics if Accept prefers it.', 'text/plain', {
          type: 'string',
        }),
        default: { $ref: `#/components/responses/${COMMON_RESPONSE}` },
      }),
      description: 'Requires an API key with the scope metrics:read, unless the setting api_metrics_open is true.',
      security: [{ [SECURITY_SCHEME]: [] }, {}],
    },
  },
  '/openapi.json': {
    get: open('openapi.get', 'Get this document', {
      200: answer('This document.', JSON_TYPE, { type: 'object', description: 'An OpenAPI 3.1 document.' }),
    }),
  },
  '/docs': {
    get: open('docs.get', 'Read this document as a page', {
      200: answer('The page.', 'text/html', { type: 'string' }),
    }),
  },
};

function open(operationId: string, summary: string, responses: OperationObject['responses']): OperationObject {
  const description = 'Requires neither an API key nor a version.';
  return { operationId, tags: [SERVICE_TAG.name], summary, description, security: [], responses };
}

function answer(description: string, type: string, schema: JsonObject, example?: JsonObject): ResponseObject {
  return {
    description,
    content: { [type]: { schema, ...(example !== undefined && { example }) } },
  };
}
