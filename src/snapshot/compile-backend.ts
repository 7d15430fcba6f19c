import type { BackendSnapshot } from '../backends/backend-snapshot.ts';
import { backendOfRecordKind } from '../backends/record-kinds.ts';
import type { TrackingReader } from './tracking-reader.ts';

/** The kind of an id, by its prefix. */
export type KindOfId = (id: string) => string | null;

/**
 * A backend with its member backends, recursively. Cycles are rejected when written; the depth limit is a second
 * safeguard.
 */
export function compileBackend(
  id: string,
  reader: TrackingReader,
  kindOfId: KindOfId,
  depth = 0,
): BackendSnapshot | null {
  const kind = kindOfId(id);
  const record = kind === null || depth > 20 ? undefined : reader.get(kind, id);
  if (record === undefined || kind === null) return null;
  const members = new Map<string, BackendSnapshot>();
  for (const memberId of backendOfRecordKind(kind)?.memberIds?.(record.doc as never) ?? []) {
    const member = compileBackend(memberId, reader, kindOfId, depth + 1);
    if (member !== null) members.set(memberId, member);
  }
  return { kind, id, revision: record.revision, config: record.doc, members };
}
