import Type from 'typebox';

export const sourceSchema = Type.Object({
  type: Type.String({ description: 'Event type for which the subscription triggers.' }),
  uri: Type.String({ description: 'URI of the event source.' }),
});
