import Type from 'typebox';
import { idString, reference } from '../../../kit/schema/annotations.ts';
import { pointerTo } from '../../../kit/schema/field-problem.ts';
import { sourceSchema, unknownTypeMessage } from '../event_sources/event-sources.ts';
import { unreadableType } from '../event_types/event-types.ts';
import { defineResource, describedFields } from '../resource.ts';

/** Which events are sent to which destinations. */
export const eventSubscriptions = defineResource({
  name: 'event_subscriptions',
  kind: 'event_subscription',
  idPrefix: 'esb',
  path: '/event_subscriptions',
  listKey: 'event_subscriptions',
  title: 'an event subscription',
  description: 'A set of event types and the destinations that receive them.',
  eventNoun: 'event_subscription',
  otherNames: { leftOutIfEmptyOnPatch: ['sources'] },
  config: Type.Object({
    ...describedFields,
    sources: Type.Array(
      Type.Object(
        {
          type: Type.String({ maxLength: 100, description: 'An event type, such as "ip_policy_created.v0".' }),
          // A source may be sent back as it was read.
          uri: Type.Optional(Type.String({ maxLength: 2048, description: 'URI of the source; ignored in requests.' })),
        },
        { additionalProperties: false },
      ),
      {
        default: [],
        maxItems: 200,
        description: 'The distinct event types of the subscription, each as {"type": "ip_policy_created.v0"}.',
      },
    ),
    destination_ids: reference(
      { kinds: ['event_destination'], readAs: 'destinations' },
      Type.Array(idString('Id of an event destination.'), {
        default: [],
        maxItems: 100,
        description: 'Ids of the event destinations, without duplicates.',
      }),
    ),
  }),
  example: { sources: [{ type: 'ip_policy_created.v0' }], destination_ids: ['ed_2zXAMPLEdestinationOfDocsAA'] },
  normalize: (config) => ({ ...config, sources: config.sources.map(({ type }) => ({ type })) }),
  check: (config, settings) => {
    const types = config.sources.map((source) => source.type);
    const unknown = types.findIndex((type) => !settings.eventTypes.includes(type));
    if (unknown !== -1) {
      return [
        {
          path: `/sources/${unknown}/type`,
          message: unknownTypeMessage(types[unknown] as string, settings.eventTypes),
        },
      ];
    }
    const repeated = types.findIndex((type, index) => types.indexOf(type) !== index);
    if (repeated !== -1)
      return [{ path: `/sources/${repeated}/type`, message: `lists "${types[repeated]}" twice: list each type once` }];
    const ids = config.destination_ids;
    const twice = ids.find((id, index) => ids.indexOf(id) !== index);
    return twice === undefined
      ? []
      : [{ path: pointerTo('', 'destination_ids'), message: `lists ${twice} twice: list each destination once` }];
  },
  isArming: (config, previous) => {
    const isNew = (type: string): boolean => previous?.sources.every((source) => source.type !== type) !== false;
    return (
      config.sources.some(({ type }) => isNew(type)) ||
      config.destination_ids.some((id) => previous?.destination_ids.includes(id) !== true)
    );
  },
  authorize: (principal, config, previous, { eventTypes }) => {
    if (config === null) return null;
    const types = config.sources.map((source) => source.type);
    const known = previous?.sources.map((source) => source.type) ?? [];
    // A new destination receives events of every type, so all are checked; otherwise only new types matter. Removing a
    // type needs no read permission.
    const isNewPlace = config.destination_ids.some((id) => previous?.destination_ids.includes(id) !== true);
    return unreadableType(isNewPlace ? types : types.filter((type) => !known.includes(type)), principal, eventTypes);
  },
  rendered: { sources: Type.Array(sourceSchema, { description: 'The event types of the subscription.' }) },
  render: (body) => ({
    ...body,
    sources: (body['sources'] as readonly { readonly type: string }[]).map(({ type }) => ({
      type,
      uri: `${body['uri'] as string}/sources/${type}`,
    })),
  }),
});
