import { rfc3339 } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import { PENDING_CHANGE, type PendingChange, pendingChange } from '../../store/pending-change.ts';
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
