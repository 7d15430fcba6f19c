import type { JsonObject } from '../lib/json.ts';
import type { CompiledResource } from './compiled.ts';
import type { DocumentsContext } from './documents-context.ts';
import { referencesIn, unknownReference } from './reference-fields.ts';

/** For a resource whose `onCreate` reads what it refers to: another process may have created it a moment ago. */
export async function requireReferences(
  { replica, catalog }: DocumentsContext,
  { resource, referenceFields }: CompiledResource,
  config: JsonObject,
): Promise<void> {
  if (resource.readsReferences !== true) return;
  const missing = (): ReturnType<typeof referencesIn>[number] | undefined =>
    referencesIn(config, referenceFields, catalog.kindOfId, '').find(
      ({ to }) => replica.get(to.kind, to.id) === undefined,
    );
  if (missing() === undefined) return;
  await replica.refresh();
  const absent = missing();
  if (absent !== undefined) throw unknownReference(absent.path, absent.to.id, [absent.to.kind]);
}
