import Type, { type TObject, type TSchema } from 'typebox';
import { refSchema } from '../../lib/schema/annotations.ts';
import type { EventObject, EventType, Operation } from '../../resources/operation.ts';
import { timestamp } from '../../resources/resource.ts';
import { JSON_TYPE, type ParameterObject, type PathItem } from './document.ts';
import type { OperationContext } from './operation-object.ts';

/**
 * What webhook destinations receive, by event type. openapi-generator 7.25 would make methods of them, without types in
 * Python and TypeScript, and in every language write them over the methods of their tag: so they have no tag, and are
 * marked as nothing to call. Clients have types for their bodies.
 */
export function webhooksOf(
  operations: readonly Operation[],
  context: OperationContext,
): Readonly<Record<string, PathItem>> {
  const { eventTypes } = context.catalog;
  return Object.fromEntries(eventTypes.map((type) => [type.type, { post: webhook(type, operations, context) }]));
}

function webhook(
  eventType: EventType,
  operations: readonly Operation[],
  context: OperationContext,
): PathItem['post'] & object {
  const { type, description, scope, object } = eventType;
  // openapi-generator 7.25 does not understand null in a schema that is written here.
  const name = schemaName(type);
  context.components.add(name, envelope(eventType, objectSchema(object, operations, context)), { isReusable: false });
  const schema = { $ref: `#/components/schemas/${name}` };
  return {
    operationId: `webhook.${type}`,
    tags: [],
    'x-internal': true,
    summary: description,
    description: `Sent to the webhook destinations of subscriptions with this type. Subscribing needs the scope ${scope}. This is the body with the format "json" of the destination.`,
    security: [],
    parameters: Object.keys(webhookHeaders).map((name) => ({ $ref: `#/components/parameters/${name}` })),
    requestBody: { required: true, content: { [JSON_TYPE]: { schema } } },
    responses: {
      '2XX': { description: 'The event is delivered. Other statuses are failures; most are retried.' },
      410: { description: 'The receiver is gone: the destination is suspended.' },
    },
  };
}

/** `ip_policy_created.v0` as "IpPolicyCreatedEvent". */
function schemaName(type: string): string {
  const words = type.replace(/\.v0$/, '').split(/[._]/);
  return `${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}Event`;
}

function envelope({ type }: EventType, object: TSchema): TObject {
  return Type.Object({
    event_id: Type.String({ description: 'Id of the event, starting with "ev_". A retry has the same.' }),
    event_type: Type.Enum([type], { description: 'The event type.' }),
    event_timestamp: timestamp('When it happened.'),
    account_id: Type.String({ description: 'Id of the installation, starting with "ac_".' }),
    principal: Type.Union([refSchema, Type.Null()], {
      description: 'Who made the change; null if the server did, and for traffic.',
    }),
    object: { ...object, description: 'What the event is about. Secrets are masked.' },
  });
}

function objectSchema(object: EventObject, operations: readonly Operation[], context: OperationContext): TSchema {
  if ('schema' in object) return object.schema;
  const shown = object.resources.map((name) => storedForm(name, operations, context));
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

/** Events show what is stored: live fields may be absent. */
function storedForm(name: string, operations: readonly Operation[], { catalog }: OperationContext): TObject {
  const get = operations.find(({ resource, verb }) => resource === name && verb === 'get');
  if (get === undefined) throw new Error(`events are about ${name}, which has no operation "get"`);
  const resource = catalog.resources.find((each) => each.name === name);
  const live = resource?.type === 'configuration' ? Object.keys(resource.live?.schema ?? {}) : [];
  const schema = get.success.schema as TObject;
  if (live.length === 0) return schema;
  const fields = Object.entries(schema.properties);
  return Type.Object(
    Object.fromEntries(fields.map(([field, own]) => [field, live.includes(field) ? Type.Optional(own) : own])),
  );
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
