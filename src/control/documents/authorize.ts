import { PosternError } from '../../kit/errors.ts';
import type { JsonObject } from '../../kit/json.ts';
import { earlierDocument } from '../../store/own-records.ts';
import type { RecordReader } from '../../store/replica/record-table.ts';
import type { Expectation } from '../../store/store.ts';
import { type MissingScope, refuseWithout } from '../resources/errors.ts';
import type { OperationRequest, Principal } from '../resources/operation.ts';
import { hasAllScopes } from '../resources/scopes.ts';
import type { Catalog, CompiledResource } from './catalog.ts';
import type { DocumentsContext } from './documents-context.ts';
import { storedFields } from './record-puts.ts';

export interface Change {
  readonly principal: Principal;
  /** Null on create. */
  readonly id: string | null;
  /** Null on delete. */
  readonly config: JsonObject | null;
  readonly previous: JsonObject | null;
}

/**
 * Kinds whose documents decide who may change them, also while a pending change holds them: the record of the wait
 * remembers what they were.
 */
export function rememberedKinds({ compiled }: Catalog): readonly string[] {
  const resources = [...compiled.values()].map(({ resource }) => resource);
  return resources
    .filter((resource) => resource.authorize !== undefined && resource.isRevocation !== undefined)
    .map(({ kind }) => kind);
}

/**
 * Throws unless the key may perform this change, from every state that the store may return to. Its scope for the path
 * has already been checked.
 */
export function authorize(
  compiled: CompiledResource,
  change: Change,
  context: Pick<DocumentsContext, 'catalog' | 'settings'> & { readonly replica: RecordReader },
): void {
  const { principal, id, config, previous } = change;
  const { resource } = compiled;
  const { replica: reader, settings, catalog } = context;
  const about = { id, reader, settings, eventTypes: catalog.eventTypes };
  const refuse = (from: JsonObject | null): void =>
    refuseWithout(missingFor(() => resource.authorize?.(principal, config as never, from as never, about), change));
  refuse(previous);
  if (id === null || resource.authorize === undefined) return;
  const { kind } = resource;
  const doc = earlierDocument(reader, { kind, id });
  if (doc !== null) refuse(storedFields(compiled, { kind, id, parent: null, revision: 0, doc, secrets: null }));
}

/** A record that cannot be read may give anything: who has all scopes may delete it, which is the way out. */
function missingFor(
  ask: () => MissingScope | null | undefined,
  { principal, id, config }: Change,
): MissingScope | null {
  try {
    return ask() ?? null;
  } catch (error) {
    if (error instanceof PosternError || id === null || config !== null) throw error;
    if (hasAllScopes(principal)) return null;
    return {
      scope: '*',
      message: `the stored record ${id} cannot be read, so it is not known what it gives: use a key with all scopes to delete it`,
    };
  }
}

/** The part that depends on data only in the store. Runs before the change is attempted. */
export async function authorizeChange(
  { resource }: CompiledResource,
  { id, ...change }: Change & { readonly id: string },
  context: DocumentsContext,
): Promise<void> {
  refuseWithout((await resource.authorizeChange?.(change as never, id, context.ports())) ?? null);
}

/** The name stands here because the resource of API keys imports documents. */
export const API_KEY_KIND = 'api_key';

/**
 * Before the commit of an operation that may take seconds: rejects a key that was deleted or lost scopes meanwhile.
 * Only the store knows whether that happens just now, so the commit expects the key as it is.
 */
export async function keyExpectation(
  request: OperationRequest,
  { replica }: DocumentsContext,
): Promise<readonly Expectation[]> {
  await request.authenticateAgain?.();
  const key = replica.get(API_KEY_KIND, request.principal.apiKeyId);
  return key === undefined ? [] : [{ kind: key.kind, id: key.id, revision: key.revision }];
}
