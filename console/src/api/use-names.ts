import { textAt } from '../format/text.ts';
import { get } from './request.ts';
import { isAllowed } from './scopes.ts';
import { useLoaded } from './use-loaded.ts';
import type { Document } from './use-pages.ts';

/** What people call the documents of a list, by id: the first of these fields that is not empty. */
export function useNames(
  path: string,
  listKey: string,
  scope: string,
  fields: readonly string[],
): ReadonlyMap<string, string> {
  const { data } = useLoaded(`names ${path}`, async (abort) => {
    if (!isAllowed(scope)) return new Map<string, string>();
    const page = await get<Record<string, readonly Document[] | undefined>>(path, abort);
    const nameOf = (row: Document): string => fields.map((field) => textAt(row, field)).find(Boolean) ?? '';
    return new Map((page[listKey] ?? []).map((row) => [textAt(row, 'id'), nameOf(row)]));
  });
  return data ?? new Map();
}
