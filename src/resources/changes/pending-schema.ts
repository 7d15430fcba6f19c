import Type from 'typebox';
import { timestamp } from '../resource.ts';

/** A change that waits for its confirmation, as responses show it. */
export const pendingSchema = Type.Union(
  [
    Type.Object({
      revision: Type.Integer({ description: 'Revision of the change.' }),
      confirm_by: timestamp('The server reverts the change at this time, unless it is confirmed before.'),
      confirm_uri: Type.String({ description: 'POST to this URI confirms it.' }),
    }),
    Type.Null(),
  ],
  { description: 'The change that waits for its confirmation; null if there is none.' },
);
