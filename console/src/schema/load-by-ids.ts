import { get } from '../api/request.ts';
import { areAllowed } from '../api/scopes.ts';
import type { Document } from '../api/use-pages.ts';
import { textAt } from '../format/text.ts';
import { fillPath, resourceAt } from './paths.ts';

export interface Reference {
  readonly id: string;
  readonly uri: string;
}

/** A filter has at most 1,024 characters. */
const IDS_PER_FILTER = 25;

interface Wanted {
  readonly path: string;
  readonly listKey: string;
  readonly ids: Set<string>;
}

/**
 * The documents that references name, by id: one request for each list and 25 ids. Missing: deleted, or not for this
 * session.
 */
export async function loadByIds(
  references: readonly Reference[],
  abort?: AbortSignal,
): Promise<ReadonlyMap<string, Document>> {
  const lists = new Map<string, Wanted>();
  for (const { id, uri } of references) {
    const found = resourceAt(uri);
    if (found === null || !areAllowed(found.type.list.scopes)) continue;
    const path = fillPath(found.type.list.path, found.ids);
    const wanted = lists.get(path) ?? { path, listKey: found.type.listKey, ids: new Set() };
    wanted.ids.add(id);
    lists.set(path, wanted);
  }
  const loaded = await Promise.all([...lists.values()].map((wanted) => loadFrom(wanted, abort)));
  return new Map(loaded.flat().map((document) => [textAt(document, 'id'), document]));
}

async function loadFrom({ path, listKey, ids }: Wanted, abort: AbortSignal | undefined): Promise<readonly Document[]> {
  const all = [...ids];
  const chunks = Array.from({ length: Math.ceil(all.length / IDS_PER_FILTER) }, (_, at) =>
    all.slice(at * IDS_PER_FILTER, (at + 1) * IDS_PER_FILTER),
  );
  const pages = await Promise.all(
    chunks.map((chunk) => {
      const filter = `obj.id in ${JSON.stringify(chunk)}`;
      return get<Record<string, Document[]>>(`${path}?limit=100&filter=${encodeURIComponent(filter)}`, abort);
    }),
  );
  return pages.flatMap((page) => page[listKey] ?? []);
}
