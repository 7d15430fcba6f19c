import type { JsonObject } from '../../lib/json.ts';
import { describedFields } from '../../resources/resource.ts';
import type { RecordKey } from '../../store/store.ts';
import type { DocumentsContext } from '../documents-context.ts';
import { pendingNow } from './pending-form.ts';

/**
 * Whether a request that changes nothing takes rights away that the pending change has taken already. The revert must
 * not give them back, so the record leaves the pending change as after any revocation.
 */
export function repeatsPending(
  record: RecordKey,
  stated: JsonObject,
  context: Pick<DocumentsContext, 'replica'>,
): boolean {
  const isDescription = Object.keys(stated).every((name) => name in describedFields);
  if (isDescription) return false;
  return pendingNow(context)?.narrowed.some(({ kind, id }) => kind === record.kind && id === record.id) === true;
}
