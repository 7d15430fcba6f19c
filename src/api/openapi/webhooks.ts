import Type, { type TObject, type TSchema } from 'typebox';
import { canonicalJson } from '../../lib/json.ts';
import { refSchema } from '../../lib/schema/annotations.ts';
import type { EventObject, EventType, Operation } from '../../resources/operation.ts';
import { timestamp } from '../../resources/resource.ts';
import { JSON_TYPE, type ParameterObject, type PathItem, type ResponseObject } from './document.ts';
import type { OperationContext } from './operation-object.ts';

/**
 * What webhook destinations receive: types about the same object share an entry. openapi-generator 7.25 would make methods
 * of them, without types in Python and TypeScript, and in every language write them over the methods of their tag: so
 * they have no tag, and are marked as nothing to call. Clients have types for their bodies.
 */
export function webhooksOf(
  operations: readonly Operation[],
  context: OperationContext,
): Readonly<Record<string, PathItem>> {
  const { eventTypes } = context.catalog;
  const byObject = Map.groupBy(eventTypes, ({ object }) =>
    'schema' in object ? object.schema : canonicalJson(object),
  );
  return Object.fromEntries(
    [...byObject.values()].map((same) => {
      const [{ object }] = same as [EventType];
      const words = wordsOf(same.map(({ type }) => type));
      // openapi-generator 7.25 does not understand null in a schema that is written here.
      const schema = `${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}Event`;
      context.components.add(schema, envelope(same, objectSchema(object, operations)), { isReusable: false });
      return [words.join('_'), { post: webhook(words.join('_'), same, schema) }];
    }),
  );
}

function webhook(name: string, types: readonly EventType[], schema: string): PathItem['post'] & object {
  return {
    operationId: `webhook.${name}`,
    tags: [],
    'x-internal': true,
    summary: `Events ${types.map(({ type }) => type).join(', ')}`,
    description: types
      .map(({ type, description, scope }) => `- \`${type}\`: ${description} Subscribing needs the scope ${scope}.`)
      .join('\n'),
    security: [],
    parameters: Object.keys(webhookHeaders).map((header) => ({ $ref: `#/components/parameters/${header}` })),
    requestBody: { required: true, content: { [JSON_TYPE]: { schema: { $ref: `#/components/schemas/${schema}` } } } },
    responses: {
      '2XX': { $ref: '#/components/responses/EventDelivered' },
      410: { $ref: '#/components/responses/ReceiverGone' },
    },
  };
}

export const webhookResponses: Readonly<Record<string, ResponseObject>> = {
  EventDelivered: { description: 'The event is delivered. Other statuses are failures; most are retried.' },
  ReceiverGone: { description: 'The receiver is gone: the destination is suspended.' },
};

/** The words that the types share: `ip_policy_created.v0` and `ip_policy_deleted.v0` are about an "ip_policy". */
function wordsOf(types: readonly string[]): readonly string[] {
  const [first = [], ...others] = types.map((type) => type.replace(/\.v0$/, '').split(/[._]/));
  return first.filter((_word, at) =>
    others.every((other) => other.slice(0, at + 1).join() === first.slice(0, at + 1).join()),
  );
}

function envelope(types: readonly EventType[], object: TSchema): TObject {
  return Type.Object({
    event_id: Type.String({ description: 'Id of the event, starting with "ev_". A retry has the same.' }),
    event_type: Type.Enum(
      types.map(({ type }) => type),
      { description: 'The event type.' },
    ),
    event_timestamp: timestamp('When it happened.'),
    account_id: Type.String({ description: 'Id of the installation, starting with "ac_".' }),
    principal: Type.Union([refSchema, Type.Null()], {
      description: 'Who made the change; null if the server did, and for traffic.',
    }),
    object: { ...object, description: 'What the event is about. Secrets are masked.' },
  });
}

function objectSchema(object: EventObject, operations: readonly Operation[]): TSchema {
  if ('schema' in object) return object.schema;
  const shown = object.resources.map((name) => storedForm(name, operations));
  const [only] = shown;
  if (only === undefined || shown.length > 1) return Type.Union(shown);
  return object.isPartial === true
    ? Type.Object({
        ...partial(only),
        id: Type.String({
          description: 'Its id. Other fields are absent if the server did not know it when it ended.',
        }),
      })
    : only;
}

function partial(schema: TObject): TObject['properties'] {
  return Object.fromEntries(Object.entries(schema.properties).map(([name, field]) => [name, Type.Optional(field)]));
}

function storedForm(name: string, operations: readonly Operation[]): TObject {
  const get = operations.find(({ resource, verb }) => resource === name && verb === 'get');
  if (get === undefined) throw new Error(`events are about ${name}, which has no operation "get"`);
  return get.success.schema as TObject;
}

export const webhookHeaders: Readonly<Record<string, ParameterObject>> = {
  WebhookId: header('webhook-id', 'Id of the delivery. A retry has the same: use it to ignore repeats.'),
  WebhookTimestamp: header('webhook-timestamp', 'When the request was sent, in seconds since 1970.'),
  WebhookSignature: header(
    'webhook-signature',
    'Signatures of id, timestamp and body as in Standard Webhooks: "v1," and Base64, separated by spaces.',
  ),
};

function header(name: string, description: string): ParameterObject {
  return { name, in: 'header', required: true, description, schema: { type: 'string' } };
}
