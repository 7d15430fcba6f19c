import type { OperationRequest, OperationResult } from '../../resources/operation.ts';
import { PENDING_CHANGE } from '../../store/pending-change.ts';
import type { DocumentsContext } from '../documents-context.ts';
import { documentErrors } from '../errors.ts';
import { noteOf } from '../history/change-note.ts';
import { keyExpectation } from '../key-expectation.ts';
import { refusalError } from '../refusal-error.ts';

/** Keeps a pending change. The store decides whether it is still in time. */
export async function confirmChange(
  revision: number,
  message: string,
  request: OperationRequest,
  context: DocumentsContext,
): Promise<OperationResult> {
  const result = await context.store.commit({
    expect: await keyExpectation(request, context),
    deletes: [PENDING_CHANGE],
    settles: { revision, as: 'confirmed' },
    note: noteOf(request, message === '' ? `confirmation of revision ${revision}` : message, 'confirm'),
  });
  if (result.ok) return { body: { revision: result.revision, confirms: revision }, revision: result.revision };
  if (result.reason === 'conflict') {
    throw documentErrors.create(
      'ERR_POSTERN_TOO_MANY_CONFLICTS',
      'the API key was changed in this moment, and nothing was confirmed: send the request again',
    );
  }
  if (result.reason === 'idempotency_used') throw new Error('a confirmation has no idempotency key');
  throw refusalError(result, {}, context);
}
