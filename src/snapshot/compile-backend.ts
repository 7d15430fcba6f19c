import type { JsonObject, JsonValue } from '../lib/json.ts';
import type { BackendSnapshot } from './edge-snapshot.ts';
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
  for (const memberId of memberIds(record.doc['backends'])) {
    const member = compileBackend(memberId, reader, kindOfId, depth + 1);
    if (member !== null) members.set(memberId, member);
  }
  return { kind, id, revision: record.revision, config: record.doc, members };
}

function memberIds(backends: JsonValue | undefined): readonly string[] {
  if (backends === undefined || backends === null) return [];
  return Array.isArray(backends) ? (backends as string[]) : Object.keys(backends as JsonObject);
}
