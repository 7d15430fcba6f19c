import Type from 'typebox';

export const sourceSchema = Type.Object({
  type: Type.String({
    description: 'Event type that the subscription includes.',
    examples: ['ip_policy_created.v0'],
  }),
  uri: Type.String({ description: 'URI of the event source.' }),
});
