import type { JsonObject } from '../lib/json.ts';
import type { RecordReader } from '../replica/record-reader.ts';
import { refuseWithout } from '../resources/errors.ts';
import type { Principal } from '../resources/operation.ts';
import type { Catalog } from './catalog.ts';
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
  context: { readonly replica: RecordReader; readonly catalog: Catalog },
): void {
  const { principal, id, config, previous } = change;
  const about = { id, reader: context.replica, eventTypes: context.catalog.eventTypes };
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
