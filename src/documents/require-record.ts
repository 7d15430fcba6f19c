import type { StoredRecord } from '../store/store.ts';
import type { CompiledResource } from './compiled.ts';
import type { DocumentsContext } from './documents-context.ts';
import { notFound } from './refusal-error.ts';

/** The record, or 404. */
export function requireRecord(context: DocumentsContext, kind: string, id: string): StoredRecord {
  const record = context.replica.get(kind, id);
  if (record === undefined) throw notFound(context.catalog, kind, id);
  return record;
}

/** The record, if it belongs to the parent in the path: a route of another edge is not found. */
export function requireUnder(
  context: DocumentsContext,
  compiled: CompiledResource,
  id: string,
  parentId: string | null,
): StoredRecord {
  const record = requireRecord(context, compiled.kind, id);
  if (parentId !== null && record.parent !== parentId) throw notFound(context.catalog, compiled.kind, id);
  return record;
}
