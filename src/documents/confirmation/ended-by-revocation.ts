import type { JsonObject } from '../../lib/json.ts';
import type { HistoryEntry, RecordKey } from '../../store/store.ts';
import type { Catalog } from '../catalog.ts';
import type { DocumentsContext } from '../documents-context.ts';
import { documentForm } from '../history/document-form.ts';
import { hasScope, scopeOf } from '../scopes.ts';

/** Its resource imports documents. */
const API_KEY_KIND = 'api_key';

interface Waiting {
  readonly entry: HistoryEntry;
  readonly released: readonly RecordKey[];
  readonly author: JsonObject | null;
}

/** Kinds of documents that can be revoked, those with rights of their own. */
export function revocableKinds({ compiled }: Catalog): ReadonlySet<string> {
  const resources = [...compiled.values()].map(({ resource }) => resource);
  return new Set(resources.filter((resource) => resource.isRevocation !== undefined).map(({ kind }) => kind));
}

/** Why a pending change ends before its time, or null. Its author answers for it, and somebody must be able to revert it. */
export function endedByRevocation(
  { entry, released, author }: Waiting,
  context: Pick<DocumentsContext, 'catalog' | 'replica'>,
): string | null {
  const { catalog } = context;
  const isReleased = ({ kind, id }: RecordKey): boolean => released.some((key) => key.kind === kind && key.id === id);
  const documents = entry.items.filter(({ kind }) => !catalog.derivedKinds.has(kind));
  if (documents.every(isReleased)) return 'all that it changed was revoked';
  const id = author?.['kind'] === 'api_key' ? (author['id'] as string) : '';
  const own = documents.find((item) => item.kind === API_KEY_KIND && item.id === id);
  // What the change itself did to the key of its author is part of the trial.
  if (id === '' || (own !== undefined && !isReleased(own))) return null;
  const key = context.replica.get(API_KEY_KIND, id);
  if (key === undefined) return `the API key that made it, ${id}, was deleted`;
  const scopes = key.doc['scopes'] as readonly string[];
  const kinds = new Set(documents.filter((item) => !isReleased(item)).map(({ kind }) => kind));
  for (const kind of kinds) {
    const form = documentForm(catalog, kind);
    const scope = form === null ? '*' : scopeOf('POST', form.path);
    if (!hasScope({ apiKeyId: id, scopes }, scope)) return `the API key that made it, ${id}, lost the scope "${scope}"`;
  }
  return null;
}
