import Type from 'typebox';
import type { ChangePorts } from '../documents-ports.ts';
import type { Operation } from '../operation.ts';
import { messageField } from './message-field.ts';

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
