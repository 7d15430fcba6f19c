import Type from 'typebox';
import type { LiveResource } from '../resource.ts';

const PATH = '/event_types';

const schema = Type.Object({
  type: Type.String({ description: 'Name of the event type.', examples: ['ip_policy_created.v0'] }),
  description: Type.String({
    description: 'When such an event happens.',
    examples: ['An IP policy was created.'],
  }),
  scope: Type.String({
    description: 'Scope that a key needs to subscribe to the type, and to see what such an event holds.',
    examples: ['ip_policies:read'],
  }),
});

/** Every event type that a subscription can select. */
export const eventTypes: LiveResource = {
  type: 'live',
  name: 'event_types',
  kind: 'event_type',
  idPrefix: '',
  path: PATH,
  listKey: 'event_types',
  title: 'an event type',
  description: 'What a subscription can trigger for.',
  operations: [
    {
      resource: 'event_types',
      verb: 'list',
      method: 'GET',
      path: PATH,
      summary: 'List all event types',
      description: 'Each with a sentence that says when it happens. The list is never paged.',
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
