import { useEffect, useState } from 'preact/hooks';
import type { Document } from '../../api/use-pages.ts';
import { loadByIds, type Reference } from '../../schema/load-by-ids.ts';

type Documents = ReadonlyMap<string, Document>;

/** The documents that references name, by id. Each is loaded once for every round. */
export function useDocuments(references: readonly Reference[], round: number): Documents {
  const [known, setKnown] = useState<{ round: number; found: Documents }>({ round, found: new Map() });
  const current: Documents = known.round === round ? known.found : new Map();
  const missing = references.filter(({ id }) => !current.has(id));
  const key = missing.map(({ id }) => id).join();
  useEffect(() => {
    if (missing.length === 0) return undefined;
    const controller = new AbortController();
    loadByIds(missing, controller.signal).then(
      (loaded) => {
        if (controller.signal.aborted) return;
        setKnown((old) => ({ round, found: new Map([...(old.round === round ? old.found : []), ...loaded]) }));
      },
      // The ids of documents are shown meanwhile.
      () => {},
    );
    return () => controller.abort();
  }, [key, round]);
  // What was known before stays until its new version is there: nothing jumps.
  return known.found;
}
