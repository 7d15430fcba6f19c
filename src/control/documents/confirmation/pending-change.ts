import { rfc3339 } from '../../../kit/clock.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { PENDING_CHANGE, type PendingChange, pendingChange } from '../../../store/own-records.ts';
import type { RecordKey } from '../../../store/store.ts';
import { describedFields } from '../../resources/resource.ts';
import type { DocumentsContext } from '../documents-context.ts';

type Sources = Pick<DocumentsContext, 'replica' | 'renderer'>;

export function pendingNow({ replica }: Pick<Sources, 'replica'>): PendingChange | null {
  return pendingChange(replica.get(PENDING_CHANGE.kind, PENDING_CHANGE.id));
}

/** As responses show it. */
export function pendingForm({ revision, confirmByMs }: PendingChange, { renderer }: Sources): JsonObject {
  return {
    revision,
    confirm_by: rfc3339(confirmByMs),
    confirm_uri: renderer.uri(`/changes/${revision}/confirm`),
  };
}

/**
 * Whether a request that changes nothing states what the pending change narrowed: it takes rights away that the change
 * has taken already. The revert must not give them back, so the record leaves the pending change as after any
 * revocation.
 */
export function repeatsPending(
  record: RecordKey,
  stated: JsonObject,
  context: Pick<DocumentsContext, 'replica'>,
): boolean {
  const { narrowed = [] } = pendingNow(context) ?? {};
  const own = narrowed.find(({ kind, id }) => kind === record.kind && id === record.id);
  return own?.fields.some((name) => !(name in describedFields) && Object.hasOwn(stated, name)) === true;
}
