import Type from 'typebox';
import type { JsonObject } from '../../../kit/json.ts';
import { didYouMean } from '../../../kit/text/near-match.ts';
import type { StoredRecord } from '../../../store/store.ts';
import { resourceErrors } from '../errors.ts';
import type { Operation, OperationResult } from '../operation.ts';
import type { DocumentsPort, SharedPorts } from '../ports.ts';
import type { LiveResource } from '../resource.ts';

export const sourceSchema = Type.Object({
  type: Type.String({
    description: 'Event type that the subscription includes.',
    examples: ['ip_policy_created.v0'],
  }),
  uri: Type.String({ description: 'URI of the event source.' }),
});

export function unknownTypeMessage(type: string, known: readonly string[]): string {
  return `names "${type.slice(0, 100)}", which is not an event type.${didYouMean(type, known)} GET /event_types lists all event types`;
}

export interface EventSourcePorts extends Pick<SharedPorts, 'eventTypes' | 'ref'> {
  readonly documents: Pick<DocumentsPort, 'require' | 'update' | 'once'>;
}

const PATH = '/event_subscriptions/{subscription_id}/sources';
const ITEM_PATH = `${PATH}/{type}`;
const KIND = 'event_subscription';

type Source = { readonly type: string };

const reads = { resource: 'event_sources', errors: ['ERR_POSTERN_NOT_FOUND'] as const };
const writes = { ...reads, isConditional: true };

const operations: readonly Operation<EventSourcePorts>[] = [
  {
    ...writes,
    verb: 'create',
    method: 'POST',
    path: PATH,
    isIdempotentByKey: true,
    summary: 'Add an event type to a subscription',
    description:
      'Takes effect from the next event. The API key also needs the scope of the event type (see GET /event_types).',
    body: {
      schema: Type.Object(
        {
          type: Type.String({
            description: 'An event type, such as "ip_policy_created.v0". GET /event_types lists them.',
          }),
        },
        { additionalProperties: false },
      ),
      example: { type: 'ip_policy_created.v0' },
    },
    success: { status: 201, schema: sourceSchema, description: 'The event source.' },
    errors: [
      'ERR_POSTERN_NOT_FOUND',
      'ERR_POSTERN_UNKNOWN_EVENT_TYPE',
      'ERR_POSTERN_EVENT_SOURCE_EXISTS',
      'ERR_POSTERN_IDEMPOTENCY_MISMATCH',
      'ERR_POSTERN_IDEMPOTENCY_IN_FLIGHT',
      'ERR_POSTERN_IDEMPOTENCY_REPLAY',
    ],
    run: async (request, ports) => {
      const type = request.body['type'] as string;
      const subscriptionId = request.params['subscription_id'] as string;
      ports.documents.require(KIND, subscriptionId);
      const types = ports.eventTypes.map((known) => known.type);
      if (!types.includes(type)) {
        throw resourceErrors.create('ERR_POSTERN_UNKNOWN_EVENT_TYPE', `type ${unknownTypeMessage(type, types)}`, {
          details: { field: '/type' },
        });
      }
      const create = async (): Promise<OperationResult> => {
        const { record, revision } = await ports.documents.update(KIND, subscriptionId, request, (config) => {
          const sources = sourcesIn(config);
          if (sources.some((source) => source.type === type)) throw alreadyThere(type, subscriptionId);
          return { config: { ...config, sources: [...sources, { type }] }, made: { kind: 'event_source', id: type } };
        });
        return { body: rendered(record, type, ports), revision, etag: record.revision };
      };
      return ports.documents.once(request, create, async (madeType) => {
        const record = ports.documents.require(KIND, subscriptionId);
        if (!sourcesIn(record.doc).some((source) => source.type === madeType)) return null;
        return { body: rendered(record, madeType, ports), etag: record.revision };
      });
    },
  },
  {
    ...reads,
    verb: 'list',
    method: 'GET',
    path: PATH,
    summary: 'List the event types of a subscription',
    description: 'The list contains all of them and is never paged.',
    success: {
      status: 200,
      schema: Type.Object({
        sources: Type.Array(sourceSchema, { description: 'All event sources of the subscription; never paged.' }),
        uri: Type.String({ description: 'URI of this list.' }),
      }),
      description: 'All event sources of the subscription.',
    },
    run: (request, ports) => {
      const record = ports.documents.require(KIND, request.params['subscription_id'] as string);
      const sources = sourcesIn(record.doc).map(({ type }) => rendered(record, type, ports));
      return { body: { sources, uri: listUri(record, ports) }, etag: record.revision };
    },
  },
  {
    ...reads,
    verb: 'get',
    method: 'GET',
    path: ITEM_PATH,
    summary: 'Get an event source',
    description: 'Returns 404 if the subscription does not include the type.',
    success: { status: 200, schema: sourceSchema, description: 'The event source.' },
    run: (request, ports) => {
      const record = ports.documents.require(KIND, request.params['subscription_id'] as string);
      const type = request.params['type'] as string;
      requireSource(record, type);
      return { body: rendered(record, type, ports), etag: record.revision };
    },
  },
  {
    ...writes,
    verb: 'update',
    method: 'PATCH',
    path: ITEM_PATH,
    summary: 'Update an event source',
    description: 'An event source has no fields to change: send an empty object.',
    body: { schema: Type.Object({}, { additionalProperties: false }), example: {} },
    success: { status: 200, schema: sourceSchema, description: 'The event source.' },
    run: async (request, ports) => {
      const type = request.params['type'] as string;
      const { record, revision } = await ports.documents.update(
        KIND,
        request.params['subscription_id'] as string,
        request,
        (config) => {
          if (!sourcesIn(config).some((source) => source.type === type)) throw absent(type);
          return {};
        },
      );
      return { body: rendered(record, type, ports), revision, etag: record.revision };
    },
  },
  {
    ...writes,
    verb: 'delete',
    method: 'DELETE',
    path: ITEM_PATH,
    summary: 'Remove an event type from a subscription',
    description: 'Takes effect from the next event. The last type can be removed too.',
    success: { status: 204, schema: null, description: 'The subscription no longer includes the type.' },
    run: async (request, ports) => {
      const type = request.params['type'] as string;
      const { revision } = await ports.documents.update(
        KIND,
        request.params['subscription_id'] as string,
        request,
        (config) => {
          const sources = sourcesIn(config);
          if (!sources.some((source) => source.type === type)) throw absent(type);
          return { config: { ...config, sources: sources.filter((source) => source.type !== type) } };
        },
      );
      return { body: null, revision };
    },
  },
];

/** The individual event types of a subscription. They are part of the subscription's document. */
export const eventSources: LiveResource<EventSourcePorts> = {
  type: 'live',
  name: 'event_sources',
  kind: 'event_source',
  idPrefix: '',
  path: PATH,
  listKey: 'sources',
  title: 'an event source',
  description: 'An event type that a subscription includes.',
  operations,
};

function sourcesIn(config: JsonObject): readonly Source[] {
  return config['sources'] as unknown as readonly Source[];
}

function listUri(record: StoredRecord, ports: EventSourcePorts): string {
  return `${ports.ref(record.id).uri}/sources`;
}

function rendered(record: StoredRecord, type: string, ports: EventSourcePorts): JsonObject {
  return { type, uri: `${listUri(record, ports)}/${type}` };
}

function requireSource(record: StoredRecord, type: string): void {
  if (!sourcesIn(record.doc).some((source) => source.type === type)) throw absent(type);
}

function absent(type: string): Error {
  return resourceErrors.create(
    'ERR_POSTERN_NOT_FOUND',
    `the subscription has no event source "${type.slice(0, 100)}": GET …/sources lists its event sources`,
  );
}

function alreadyThere(type: string, subscriptionId: string): Error {
  return resourceErrors.create(
    'ERR_POSTERN_EVENT_SOURCE_EXISTS',
    `subscription ${subscriptionId} already includes "${type}": nothing needs to be done`,
    {
      details: { field: '/type' },
    },
  );
}
