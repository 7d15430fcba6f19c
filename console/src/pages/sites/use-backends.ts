import { useEffect, useState } from 'preact/hooks';
import { get } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import type { Document } from '../../api/use-pages.ts';
import type { Reference } from '../../components/ref-link.tsx';
import { textAt } from '../../format/text.ts';
import { resourceAt } from '../../schema/paths.ts';
import type { ResourceType } from '../../schema/resource-types.ts';

/** A filter has at most 1,024 characters. */
const IDS_PER_FILTER = 25;

type Backends = ReadonlyMap<string, Document>;

/** The backends that references name, by id. Each is loaded once for every round. */
export function useBackends(references: readonly Reference[], round: number): Backends {
  const [known, setKnown] = useState<{ round: number; found: Backends }>({ round, found: new Map() });
  const current: Backends = known.round === round ? known.found : new Map();
  const missing = references.filter(({ id }) => !current.has(id));
  const key = missing.map(({ id }) => id).join();
  useEffect(() => {
    if (missing.length === 0 || !isAllowed('backends:read')) return undefined;
    const controller = new AbortController();
    loadBackends(missing, controller.signal).then(
      (loaded) => {
        if (controller.signal.aborted) return;
        setKnown((old) => ({ round, found: new Map([...(old.round === round ? old.found : []), ...loaded]) }));
      },
      // Their ids are shown meanwhile.
      () => {},
    );
    return () => controller.abort();
  }, [key, round]);
  // What was known before stays until its new version is there: nothing jumps.
  return known.found;
}

async function loadBackends(references: readonly Reference[], abort: AbortSignal): Promise<Backends> {
  const byType = new Map<ResourceType, Set<string>>();
  for (const { id, uri } of references) {
    const type = resourceAt(uri)?.type;
    if (type !== undefined) byType.set(type, (byType.get(type) ?? new Set()).add(id));
  }
  const found = await Promise.all([...byType].map(([type, ids]) => loadOfType(type, [...ids], abort)));
  return new Map(found.flat().map((backend) => [textAt(backend, 'id'), backend]));
}

async function loadOfType({ list, listKey }: ResourceType, ids: readonly string[], abort: AbortSignal) {
  const chunks = Array.from({ length: Math.ceil(ids.length / IDS_PER_FILTER) }, (_, at) =>
    ids.slice(at * IDS_PER_FILTER, (at + 1) * IDS_PER_FILTER),
  );
  const pages = await Promise.all(
    chunks.map((chunk) => {
      const filter = `obj.id in ${JSON.stringify(chunk)}`;
      return get<Record<string, Document[]>>(`${list.path}?limit=100&filter=${encodeURIComponent(filter)}`, abort);
    }),
  );
  return pages.flatMap((page) => page[listKey] ?? []);
}
