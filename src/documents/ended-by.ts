import type { JsonObject } from '../lib/json.ts';
import type { CompiledResource } from './compiled.ts';
import type { DocumentsContext } from './documents-context.ts';

interface Change {
  readonly id: string;
  /** Null on delete. */
  readonly config: JsonObject | null;
  /** Null on create: nothing can end. */
  readonly previous: JsonObject | null;
}

/** Everything else that ends with a change of a resource: by a request, a changeset or an undo. */
export function endedBy(
  { resource }: CompiledResource,
  { id, config, previous }: Change,
  { replica: reader, settings }: Pick<DocumentsContext, 'replica' | 'settings'>,
): ReturnType<NonNullable<CompiledResource['resource']['ends']>> {
  if (previous === null) return {};
  return resource.ends?.(config as never, previous as never, { id, reader, settings }) ?? {};
}
