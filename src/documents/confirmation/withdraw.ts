import type { JsonValue } from '../../lib/json.ts';
import type { OperationRequest, OperationResult } from '../../resources/operation.ts';
import { PENDING_CHANGE } from '../../store/pending-change.ts';
import type { HistoryEntry, RecordKey } from '../../store/store.ts';
import type { DocumentsContext } from '../documents-context.ts';
import { noteOf } from '../history/change-note.ts';
import { cannotUndo, planRestore } from '../history/undo.ts';
import { keyExpectation } from '../key-expectation.ts';
import { refusalError } from '../refusal-error.ts';
import { pendingNow } from './pending-form.ts';
import { withOwners } from './restored-owners.ts';

/** Takes back a pending change before its time is over, for somebody with the rights of its documents. */
export async function withdrawChange(
  entry: HistoryEntry,
  { message, released }: { readonly message: string; readonly released: readonly RecordKey[] },
  request: OperationRequest,
  context: DocumentsContext,
): Promise<OperationResult> {
  const { revision } = entry;
  const plan = await planRestore(entry, {
    isForced: true,
    isWithdrawal: true,
    released,
    principal: request.principal,
    context,
  });
  const writeSet = withOwners(plan.writeSet, pendingNow(context), revision);
  const ofKey = await keyExpectation(request, context);
  const result = await context.store.commit({
    ...writeSet,
    expect: [...(writeSet.expect ?? []), ...ofKey],
    deletes: [...(plan.writeSet.deletes ?? []), PENDING_CHANGE],
    settles: { revision, as: 'withdrawn' },
    note: noteOf(request, message === '' ? `revert of revision ${revision}` : message, 'revert'),
  });
  if (result.ok) {
    await context.served(result.revision);
    for (const task of plan.afterwards) await task();
    const body = { revision: result.revision, reverts: revision, skipped: plan.skipped as unknown as JsonValue };
    return { body, revision: result.revision };
  }
  if (result.reason === 'conflict' || result.reason === 'idempotency_used') {
    throw cannotUndo(`revision ${revision} cannot be reverted now, because somebody changes its documents: try again`);
  }
  throw refusalError(result, plan.writeSet, context);
}
