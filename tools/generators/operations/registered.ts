import type { OperationDescription } from '../../../src/app/cli/api/operation-list.ts';
import { registeredOperations } from '../../../src/control/api/openapi/registered-operations.ts';
import { resources } from '../../../src/control/resources/registry.ts';
import { modules } from '../../../src/modules/registry.ts';

/** Every operation, as the registries define it now. */
export function registeredOperationList(): readonly OperationDescription[] {
  return registeredOperations(resources, modules).operations;
}

/** The purpose of a resource or module (`https_edge_routes.oidc`). */
export function registeredDescription(resource: string): string {
  const [name, module] = resource.split('.');
  const definitions: readonly { readonly name: string; readonly description: string }[] =
    module === undefined ? resources : modules;
  return definitions.find((each) => each.name === (module ?? name))?.description ?? '';
}
