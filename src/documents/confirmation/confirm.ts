import type { OperationRequest, OperationResult } from '../../resources/operation.ts';
import { PENDING_CHANGE } from '../../store/pending-change.ts';
import type { DocumentsContext } from '../documents-context.ts';
import { noteOf } from '../history/change-note.ts';
import { refusalError } from '../refusal-error.ts';

/** Keeps a pending change. The store decides whether it is still in time. */
export async function confirmChange(
  revision: number,
  message: string,
  request: OperationRequest,
  context: DocumentsContext,
): Promise<OperationResult> {
  const result = await context.store.commit({
    deletes: [PENDING_CHANGE],
    settles: { revision, as: 'confirmed' },
    note: noteOf(request, message === '' ? `confirmation of revision ${revision}` : message, 'confirm'),
  });
  if (result.ok) return { body: { revision: result.revision, confirms: revision }, revision: result.revision };
  if (result.reason === 'conflict' || result.reason === 'idempotency_used') {
    throw new Error(`a confirmation cannot be refused as ${result.reason}`);
  }
  throw refusalError(result, {}, context);
}
