import type { JsonObject } from '../lib/json.ts';
import type { RecordKey } from '../store/store.ts';
import type { CompiledResource } from './compiled.ts';

/** A parent that renders its children changes when a child is created or deleted. */
export function touchedParent(compiled: CompiledResource, parent: string | null): readonly RecordKey[] {
  const link = compiled.resource.parent;
  return compiled.isInlinedInParent && link !== undefined && parent !== null ? [{ kind: link.kind, id: parent }] : [];
}

export function parentFieldOf(compiled: CompiledResource): string | null {
  const link = compiled.resource.parent;
  return link !== undefined && 'field' in link ? link.field : null;
}

export function parentFromField(compiled: CompiledResource, config: JsonObject): string | null {
  const field = parentFieldOf(compiled);
  return field === null ? null : (config[field] as string);
}
