import { createCatalog } from '../../documents/catalog.ts';
import type { Documents } from '../../documents/documents.ts';
import { operationsOf } from '../../documents/operations.ts';
import { modules } from '../../modules/registry.ts';
import type { Operation } from '../../resources/operation.ts';
import { resources } from '../../resources/registry.ts';

/** An operation without its behaviour. */
export type OperationDescription = Omit<Operation, 'run'>;

/** What the API offers, for whoever describes or calls it. The type takes `run` away, so no store is needed behind it. */
export function operationList(): readonly OperationDescription[] {
  // Compiling every schema takes longer than anything else that a command does, and the registries do not change.
  list ??= operationsOf(createCatalog(resources, modules), undefined as unknown as Documents);
  return list;
}

let list: readonly OperationDescription[] | undefined;

/** What a resource or module (`https_edge_routes.oidc`) is for. */
export function resourceDescription(resource: string): string {
  const [name, module] = resource.split('.');
  const definitions: readonly { readonly name: string; readonly description: string }[] =
    module === undefined ? resources : modules;
  return definitions.find((each) => each.name === (module ?? name))?.description ?? '';
}
