import type { Principal } from '../../resources/operation.ts';
import { PENDING_CHANGE, type Settlement } from '../../store/pending-change.ts';
import type { ChangeNote, CommitResult, HistoryEntry, RecordKey } from '../../store/store.ts';
import type { DocumentsContext } from '../documents-context.ts';
import { planRestore } from '../history/undo.ts';
import { pendingNow } from './pending-form.ts';
import { withOwners } from './restored-owners.ts';

/**
 * The server itself: there is nobody to ask. The revert gives nobody anything new, because the store holds whatever
 * decides about the restored documents as it was (docs/internals/decisions/0051).
 */
const SERVER: Principal = { apiKeyId: '', scopes: ['*'] };

const MAX_NAMED = 10;

/** When a change is taken back, and what of it. */
export interface Reverted {
  readonly entry: HistoryEntry;
  /** Revoked while the change waited: they stay as they are. */
  readonly released: readonly RecordKey[];
  /** Before its time is over, for this reason. */
  readonly early: string | null;
}

/** Takes back a change that nobody confirmed in time. The store decides whether it is still to be done. */
export async function revert(what: Reverted, context: DocumentsContext): Promise<CommitResult> {
  const first = await commitRevert(what, context);
  if (first.ok || first.reason !== 'last_one') return first;
  // The change made the last API key with all scopes: it stays, or nobody could manage the server.
  const { entry } = what;
  const kept = entry.items.filter(
    ({ kind }) => context.catalog.compiled.get(kind)?.resource.keepAtLeastOne === undefined,
  );
  return commitRevert({ ...what, entry: { ...entry, items: kept } }, context);
}

/** Ends the wait of a change that cannot be reverted, so that other writes and changes go on. The change stays. */
export function endWithoutRevert(revision: number, why: string, { store }: DocumentsContext): Promise<CommitResult> {
  return store.commit({
    deletes: [PENDING_CHANGE],
    settles: { revision, as: 'reverted' },
    note: noteOfRevert(`revision ${revision} was not confirmed in time, and could not be reverted: ${why}`),
  });
}

async function commitRevert({ entry, released, early }: Reverted, context: DocumentsContext): Promise<CommitResult> {
  const { revision } = entry;
  const { writeSet, afterwards, skipped } = await planRestore(entry, {
    isForced: true,
    isRevert: true,
    released,
    principal: SERVER,
    context,
  });
  const settles: Settlement = { revision, as: early === null ? 'reverted' : 'withdrawn' };
  const why = early ?? 'nobody confirmed it in time';
  const result = await context.store.commit({
    ...withOwners(writeSet, pendingNow(context), revision),
    deletes: [...(writeSet.deletes ?? []), PENDING_CHANGE],
    settles,
    note: noteOfRevert(`revert of revision ${revision}: ${why}${leftAlone(skipped)}`),
  });
  if (!result.ok) return result;
  await context.served(result.revision);
  for (const task of afterwards) await task();
  return result;
}

function leftAlone(skipped: readonly RecordKey[]): string {
  if (skipped.length === 0) return '';
  const named = skipped.slice(0, MAX_NAMED).map(({ id }) => id);
  const more = skipped.length > MAX_NAMED ? ` and ${skipped.length - MAX_NAMED} more` : '';
  return `. Revoked, and left alone: ${named.join(', ')}${more}`;
}

function noteOfRevert(message: string): ChangeNote {
  const author = { kind: 'server', id: '', address: null, operation_id: 'changes.revert', via: 'revert' };
  return { author, message };
}
