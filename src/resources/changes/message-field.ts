import Type from 'typebox';

const MAX_LENGTH = 1_024;

/** In the body of every operation that writes an entry of its own into the history. */
export const messageField = Type.Optional(
  Type.String({ maxLength: MAX_LENGTH, description: 'Message for the history.' }),
);
