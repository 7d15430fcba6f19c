import { request } from '../../api/request.ts';
import type { Document } from '../../api/use-pages.ts';
import { write } from '../../api/write.ts';
import type { JsonSchema } from '../../schema/json-schema.ts';
import { changedFields, writeForm } from '../../schema/write-form.ts';
import type { FormValue } from '../form/schema-form.tsx';

/** What is edited: an existing document, or one that does not exist yet. */
export interface Edited {
  readonly method: 'POST' | 'PATCH' | 'PUT';
  readonly path: string;
  readonly body: JsonSchema;
  readonly original: FormValue | null;
  readonly etag: string | null;
}

export interface Saved {
  readonly document: Document;
  readonly warnings: readonly string[];
}

export async function save(edited: Edited, value: FormValue, confirmWithin: string | null): Promise<Saved> {
  const { method, path, body, original, etag } = edited;
  const sent = method === 'PATCH' ? changedFields(original ?? {}, value, body) : value;
  const answer = await write<Document>({ method, path, body: sent, etag, confirmWithin });
  return { document: answer.data, warnings: answer.warnings };
}

/** The stored version with its ETag, after somebody else's change. */
export async function loadCurrent({ path, body }: Edited): Promise<{ value: FormValue; etag: string | null }> {
  const answer = await request<Document>('GET', path);
  return { value: writeForm(answer.data, body), etag: answer.etag };
}

/** My changes on top of their version. */
export function rebased(edited: Edited, mine: FormValue, theirs: FormValue): FormValue {
  const changes = changedFields(edited.original ?? {}, mine, edited.body);
  return { ...theirs, ...changes };
}
