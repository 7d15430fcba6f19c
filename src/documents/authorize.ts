import type { JsonObject } from '../lib/json.ts';
import type { RecordReader } from '../replica/record-reader.ts';
import { refuseWithout } from '../resources/errors.ts';
import type { Principal } from '../resources/operation.ts';
import type { CompiledResource } from './compiled.ts';
import type { DocumentsContext } from './documents-context.ts';

export interface Change {
  readonly principal: Principal;
  /** Null on create. */
  readonly id: string | null;
  /** Null on delete. */
  readonly config: JsonObject | null;
  readonly previous: JsonObject | null;
}

/** Throws unless the key may perform this change. Its scope for the path has already been checked. */
export function authorize(
  { resource }: CompiledResource,
  change: Change,
  context: Pick<DocumentsContext, 'catalog' | 'settings'> & { readonly replica: RecordReader },
): void {
  const { principal, id, config, previous } = change;
  const { replica: reader, settings, catalog } = context;
  const about = { id, reader, settings, eventTypes: catalog.eventTypes };
  refuseWithout(resource.authorize?.(principal, config as never, previous as never, about) ?? null);
}

/** The part that depends on data only in the store. Runs before the change is attempted. */
export async function authorizeChange(
  { resource }: CompiledResource,
  { id, ...change }: Change & { readonly id: string },
  context: DocumentsContext,
): Promise<void> {
  refuseWithout((await resource.authorizeChange?.(change as never, id, context.ports())) ?? null);
}
