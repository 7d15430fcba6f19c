import type { TSchema } from 'typebox';
import Type from 'typebox';
import type { Operation } from '../operation.ts';
import type { ChangePorts } from '../ports.ts';
import { timestamp } from '../resource.ts';

export function confirmOperation(
  path: string,
  revisionOf: (params: Readonly<Record<string, string>>) => number,
): Operation<ChangePorts> {
  return {
    resource: 'changes',
    verb: 'confirm',
    method: 'POST',
    path: `${path}/{revision}/confirm`,
    returnsRevision: true,
    summary: 'Confirm a change',
    description:
      'Keeps a change that was applied with `confirm_within`: without this, the server reverts it when the time is over. The key needs the write scope of each document of the change.',
    body: {
      schema: Type.Object({ message: messageField }, { additionalProperties: false }),
      example: { message: 'the login still works' },
    },
    success: {
      status: 200,
      schema: Type.Object({
        revision: Type.Integer({ description: 'Revision of the confirmation.' }),
        confirms: Type.Integer({ description: 'Revision that stays.' }),
      }),
      description: 'The change stays.',
    },
    errors: [
      'ERR_POSTERN_NOT_FOUND',
      'ERR_POSTERN_INVALID_BODY',
      'ERR_POSTERN_NOT_PENDING',
      'ERR_POSTERN_TOO_MANY_CONFLICTS',
    ],
    run: (request, { changes }) =>
      changes.confirm(revisionOf(request.params), (request.body['message'] ?? '') as string, request),
  };
}

export function revertOperation(
  path: string,
  revisionOf: (params: Readonly<Record<string, string>>) => number,
  skipped: TSchema,
): Operation<ChangePorts> {
  return {
    resource: 'changes',
    verb: 'revert',
    method: 'POST',
    path: `${path}/{revision}/revert`,
    returnsRevision: true,
    summary: 'Revert a change that waits',
    description:
      'Takes back a change that was applied with `confirm_within`, before its time is over: so that another change can wait, or its documents can be written. The key needs the write scope of each document of the change.',
    body: {
      schema: Type.Object({ message: messageField }, { additionalProperties: false }),
      example: { message: 'nobody looks after it' },
    },
    success: {
      status: 200,
      schema: Type.Object({
        revision: Type.Integer({ description: 'Revision of the new change.' }),
        reverts: Type.Integer({ description: 'Revision that was reverted.' }),
        skipped,
      }),
      description: 'The documents are as before the change, and nothing waits.',
    },
    errors: [
      'ERR_POSTERN_NOT_FOUND',
      'ERR_POSTERN_INVALID_BODY',
      'ERR_POSTERN_NOT_PENDING',
      'ERR_POSTERN_CANNOT_UNDO',
      'ERR_POSTERN_LAST_API_KEY',
    ],
    run: (request, { changes }) =>
      changes.revert(revisionOf(request.params), (request.body['message'] ?? '') as string, request),
  };
}

const MAX_LENGTH = 1_024;

/** In the body of every operation that writes an entry of its own into the history. */
export const messageField = Type.Optional(
  Type.String({ maxLength: MAX_LENGTH, description: 'Message for the history.' }),
);

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
