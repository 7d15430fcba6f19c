import Type, { type TObject, type TSchema } from 'typebox';
import { canonicalJson } from '../../../kit/json.ts';
import { refSchema } from '../../../kit/schema/annotations.ts';
import type { EventObject, EventType, Operation } from '../../resources/operation.ts';
import { timestamp } from '../../resources/resource.ts';
import { JSON_TYPE, type OperationObject, type ParameterObject, type PathItem } from './document.ts';
import type { OperationContext } from './operation-object.ts';

/** The schema of everything that a destination receives: one of the schemas of the events. */
const ANY_EVENT = 'Event';
/** What all events have. */
const ENVELOPE = 'EventEnvelope';

/**
 * What webhook destinations receive: any event. Types about the same object share a schema. openapi-generator 7.25
 * would make a method of the webhook, without types in Python and TypeScript, and in every language write it over the
 * methods of its tag: so it has no tag, and is marked as nothing to call. Clients have types for its bodies.
 */
export function webhooksOf(
  operations: readonly Operation[],
  context: OperationContext,
): Readonly<Record<string, PathItem>> {
  const { eventTypes } = context.catalog;
  const byObject = Map.groupBy(eventTypes, ({ object }) =>
    'schema' in object ? object.schema : canonicalJson(object),
  );
  context.components.add(ENVELOPE, envelope, { isReusable: true });
  const schemas = [...byObject.values()].map((same) => {
    const [{ object }] = same as [EventType];
    const words = wordsOf(same.map(({ type }) => type));
    // openapi-generator 7.25 does not understand null in a schema that is not named.
    const name = `${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}Event`;
    context.components.add(name, eventSchema(same, objectSchema(object, operations)), {
      isReusable: false,
      description: descriptionOf(same),
    });
    return { $ref: `#/components/schemas/${name}` };
  });
  context.components.add(ANY_EVENT, Type.Union(schemas.map((each) => Type.Unsafe(each))), {
    isReusable: false,
    description:
      'Any event: `event_type` says which it is, and `object` is what it is about. `Scope` in the description of an event is the scope that subscribing to it needs.',
  });
  return { event: { post: webhook } };
}

/** "An alert was created.", "An alert was changed." as one sentence; other descriptions with their types. */
function descriptionOf(types: readonly EventType[]): string {
  const [scope, ...others] = new Set(types.map((each) => each.scope));
  if (scope === undefined || others.length > 0)
    throw new Error(`events of one object need several scopes: ${others.join()}`);
  const changes = types.map(({ description }) => /^(.+ was )(\w+)\.$/.exec(description));
  const subjects = new Set(changes.map((change) => change?.[1]));
  const [subject] = subjects;
  const text =
    subjects.size === 1 && subject !== undefined
      ? `${subject}${changes.map((change) => change?.[2]).join(' or ')}.`
      : types.map(({ type, description }) => `${types.length > 1 ? `- \`${type}\`: ` : ''}${description}`).join('\n');
  return `${text}\n\nScope: ${scope}.`;
}

const webhookHeaders: readonly ParameterObject[] = [
  header('webhook-id', 'Id of the event. A retry and a replay have the same: use it to ignore repeats.'),
  header('webhook-timestamp', 'When the request was sent, in seconds since 1970.'),
  header(
    'webhook-signature',
    'Signatures of id, timestamp and body as in Standard Webhooks: "v1," and Base64, separated by spaces.',
  ),
];

const webhook: OperationObject = {
  operationId: 'webhook.event',
  tags: [],
  'x-internal': true,
  summary: 'An event happened',
  description: 'The request that a webhook destination receives for each event. Secrets in its object are masked.',
  security: [],
  parameters: webhookHeaders,
  requestBody: { required: true, content: { [JSON_TYPE]: { schema: { $ref: `#/components/schemas/${ANY_EVENT}` } } } },
  responses: {
    '2XX': { description: 'The event is delivered. Other statuses are failures; most are retried.' },
    410: { description: 'The receiver is gone: the destination is suspended.' },
  },
};

/** The words that the types share: `ip_policy_created.v0` and `ip_policy_deleted.v0` are about an "ip_policy". */
function wordsOf(types: readonly string[]): readonly string[] {
  const [first = [], ...others] = types.map((type) => type.replace(/\.v0$/, '').split(/[._]/));
  return first.filter((_word, at) =>
    others.every((other) => other.slice(0, at + 1).join() === first.slice(0, at + 1).join()),
  );
}

const envelope = Type.Object({
  event_id: Type.String({ description: 'Id of the event, starting with "ev_". A retry has the same.' }),
  event_timestamp: timestamp('When it happened.'),
  account_id: Type.String({ description: 'Id of the installation, starting with "ac_".' }),
  principal: Type.Union([refSchema, Type.Null()], {
    description: 'Who made the change; null if the server did, and for traffic.',
  }),
});

function eventSchema(types: readonly EventType[], object: TSchema): TSchema {
  const own = Type.Object({
    event_type: Type.Enum(types.map(({ type }) => type)),
    object,
  });
  return Type.Intersect([envelope, own]);
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

function header(name: string, description: string): ParameterObject {
  return { name, in: 'header', required: true, description, schema: { type: 'string' } };
}
