import Type from 'typebox';

export const sourceSchema = Type.Object({
  type: Type.String({
    description: 'Event type for which the subscription triggers.',
    examples: ['ip_policy_created.v0'],
  }),
  uri: Type.String({ description: 'URI of the event source.' }),
});
