import Type, { type TSchema } from 'typebox';
import type { ChangePorts } from '../documents-ports.ts';
import type { Operation } from '../operation.ts';
import { messageField } from './message-field.ts';

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
