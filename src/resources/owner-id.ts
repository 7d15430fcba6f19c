import Type, { type TNull } from 'typebox';

/** Existing clients read it without checking that it exists. */
export const ownerId: TNull = Type.Null({ description: 'Always null: resources have no owner.' });
