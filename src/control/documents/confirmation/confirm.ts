import type { JsonValue } from '../../../kit/json.ts';
import { OWNERSHIP_KIND, ownershipId, PENDING_CHANGE, type PendingChange } from '../../../store/own-records.ts';
import type { Expectation, HistoryEntry, RecordKey } from '../../../store/store.ts';
import type { OperationRequest, OperationResult } from '../../resources/operation.ts';
import { keyExpectation } from '../authorize.ts';
import { noteOf } from '../commits.ts';
import type { DocumentsContext } from '../documents-context.ts';
import { documentErrors } from '../errors.ts';
import { cannotUndo, planRestore } from '../history/undo.ts';
import type { PlacedPut, PlacedWriteSet } from '../record-puts.ts';
import { refusalError } from '../refusal-error.ts';
import { pendingNow } from './pending-change.ts';

interface Confirmation {
  readonly revision: number;
  readonly message: string;
  /** What decided that the caller may make the change. */
  readonly expect: readonly Expectation[];
}

/** Keeps a pending change. The store decides whether it is still in time. */
export async function confirmChange(
  { revision, message, expect }: Confirmation,
  request: OperationRequest,
  context: DocumentsContext,
): Promise<OperationResult> {
  const result = await context.store.commit({
    expect: [...expect, ...(await keyExpectation(request, context))],
    deletes: [PENDING_CHANGE],
    settles: { revision, as: 'confirmed' },
    note: noteOf(request, message === '' ? `confirmation of revision ${revision}` : message, 'confirm'),
  });
  if (result.ok) return { body: { revision: result.revision, confirms: revision }, revision: result.revision };
  if (result.reason === 'conflict') {
    throw documentErrors.create(
      'ERR_POSTERN_TOO_MANY_CONFLICTS',
      'the API key, or where secret headers go, was changed in this moment, and nothing was confirmed: send the request again',
    );
  }
  if (result.reason === 'idempotency_used') throw new Error('a confirmation has no idempotency key');
  throw refusalError(result, {}, context);
}

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

/** The restored objects get the owners back that the change took from them: the history has none. */
export function withOwners(writeSet: PlacedWriteSet, pending: PendingChange | null, revision: number): PlacedWriteSet {
  if (pending === null || pending.revision !== revision) return writeSet;
  const { puts = [] } = writeSet;
  const restored = new Set(puts.map(({ id }) => id));
  const owners = pending.owners.filter(({ id }) => restored.has(id));
  return { ...writeSet, puts: [...puts, ...owners.map(({ id, owner, name }) => ownerPut(id, owner, name))] };
}

function ownerPut(id: string, owner: string, name: string): PlacedPut {
  return {
    kind: OWNERSHIP_KIND,
    id: ownershipId(id),
    parent: id,
    doc: { owner, name },
    secrets: null,
    uniqueKeys: [],
    references: [],
  };
}
