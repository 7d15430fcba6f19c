import type { JsonObject } from '../lib/json.ts';
import type { Module } from './contract/module.ts';
import { moduleRecordKey } from './module-record-key.ts';

/** What declares whether it reads paths: a module or a kind of backend. */
export interface DeclaresPathReading {
  readonly name: string;
  readonly readsPath: false | ((config: never) => string | null);
}

/** What of a configuration reads paths, with the module's name; null: nothing. What fails to say so counts as a reader. */
export function pathReaderOf({ name, readsPath }: DeclaresPathReading, config: unknown): string | null {
  if (readsPath === false) return null;
  try {
    const what = readsPath(config as never);
    return what === null ? null : `${name} ${what}`;
  } catch {
    return name;
  }
}

/** What of the stored modules of a route and its edge reads paths; null: nothing. */
export function storedPathReader(
  modules: readonly Module[],
  { edgeId, routeId }: { readonly edgeId: string; readonly routeId: string },
  get: (kind: string, id: string) => JsonObject | undefined,
): string | null {
  for (const module of modules) {
    const isOfEdge = module.level === 'edge';
    const { kind, id } = moduleRecordKey(
      isOfEdge ? 'https_edge' : 'https_edge_route',
      isOfEdge ? edgeId : routeId,
      module.name,
    );
    const config = get(kind, id);
    const reader = config === undefined || config['enabled'] === false ? null : pathReaderOf(module, config);
    if (reader !== null) return reader;
  }
  return null;
}
