import type { Principal } from '../../resources/operation.ts';
import { PENDING_CHANGE, type Settlement } from '../../store/pending-change.ts';
import type { ChangeNote, CommitResult, HistoryEntry } from '../../store/store.ts';
import type { DocumentsContext } from '../documents-context.ts';
import { planRestore } from '../history/undo.ts';
import { pendingNow } from './pending-form.ts';
import { withOwners } from './restored-owners.ts';

/** The server itself: there is nobody to ask. */
const SERVER: Principal = { apiKeyId: '', scopes: ['*'] };

/** Takes back a change that nobody confirmed in time. The store decides whether it is still to be done. */
export async function revert(entry: HistoryEntry, context: DocumentsContext): Promise<CommitResult> {
  const first = await commitRevert(entry, context);
  if (first.ok || first.reason !== 'last_one') return first;
  // The change made the last API key with all scopes: it stays, or nobody could manage the server.
  const kept = entry.items.filter(
    ({ kind }) => context.catalog.compiled.get(kind)?.resource.keepAtLeastOne === undefined,
  );
  return commitRevert({ ...entry, items: kept }, context);
}

/** Ends the wait of a change that cannot be reverted, so that other writes and changes go on. The change stays. */
export function endWithoutRevert(revision: number, why: string, { store }: DocumentsContext): Promise<CommitResult> {
  return store.commit({
    deletes: [PENDING_CHANGE],
    settles: { revision, as: 'reverted' },
    note: noteOfRevert(`revision ${revision} was not confirmed in time, and could not be reverted: ${why}`),
  });
}

async function commitRevert(entry: HistoryEntry, context: DocumentsContext): Promise<CommitResult> {
  const { revision } = entry;
  const { writeSet, afterwards } = await planRestore(entry, {
    isForced: true,
    isRevert: true,
    principal: SERVER,
    context,
  });
  const settles: Settlement = { revision, as: 'reverted' };
  const result = await context.store.commit({
    ...withOwners(writeSet, pendingNow(context), revision),
    deletes: [...(writeSet.deletes ?? []), PENDING_CHANGE],
    settles,
    note: noteOfRevert(`revert of revision ${revision}: nobody confirmed it in time`),
  });
  if (!result.ok) return result;
  await context.served(result.revision);
  for (const task of afterwards) await task();
  return result;
}

function noteOfRevert(message: string): ChangeNote {
  const author = { kind: 'server', id: '', address: null, operation_id: 'changes.revert', via: 'revert' };
  return { author, message };
}
