import Type from 'typebox';
import type { LiveResource } from '../resource.ts';
import type { SharedPorts } from '../shared-ports.ts';

export type EventTypePorts = Pick<SharedPorts, 'eventTypes' | 'uri'>;

const PATH = '/event_types';

const schema = Type.Object({
  type: Type.String({ description: 'Name of the event type.', examples: ['ip_policy_created.v0'] }),
  description: Type.String({
    description: 'When the event occurs.',
    examples: ['An IP policy was created.'],
  }),
  scope: Type.String({
    description: 'Scope that an API key needs to subscribe to the type and to read its events.',
    examples: ['ip_policies:read'],
  }),
});

/** Every event type that a subscription can select. */
export const eventTypes: LiveResource<EventTypePorts> = {
  type: 'live',
  name: 'event_types',
  kind: 'event_type',
  idPrefix: '',
  path: PATH,
  listKey: 'event_types',
  title: 'an event type',
  description: 'A type of event that a subscription can include.',
  operations: [
    {
      resource: 'event_types',
      verb: 'list',
      method: 'GET',
      path: PATH,
      summary: 'List all event types',
      description: 'Each type has a description of when it occurs. The list is never paged.',
      success: {
        status: 200,
        schema: Type.Object({
          event_types: Type.Array(schema, { description: 'All event types.' }),
          uri: Type.String({ description: 'URI of the list.' }),
          next_page_uri: Type.Null({ description: 'Always null: the list is never paged.' }),
        }),
        description: 'All event types, never paged.',
      },
      errors: [],
      run: (_request, ports) => ({
        body: {
          event_types: ports.eventTypes.map(({ type, description, scope }) => ({ type, description, scope })),
          uri: ports.uri(PATH),
          next_page_uri: null,
        },
      }),
    },
  ],
};
